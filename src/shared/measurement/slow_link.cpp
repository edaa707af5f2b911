#include "shared/measurement/slow_link.hpp"

#include "shared/core/median.hpp"

#include <algorithm>
#include <cmath>

namespace dockdist {
namespace {

// Below this a measurement is slow. `measurements` is not empty.
double threshold(const std::vector<double>& measurements, double share) {
    const auto usual = upper_median(measurements); // half of the measurements may be slow
    std::vector<double> deviations;
    deviations.reserve(measurements.size());
    for (const auto measurement : measurements) {
        deviations.push_back(std::fabs(measurement - usual));
    }
    constexpr double to_standard_deviation = 1.4826; // of a normal distribution
    return usual - std::max(3 * to_standard_deviation * lower_median(std::move(deviations)), share * usual);
}

} // namespace

std::vector<std::size_t> slow_ones(const std::vector<double>& measurements, double share) {
    std::vector<std::size_t> slow;
    if (measurements.size() < 3) {
        return slow;
    }
    const auto limit = threshold(measurements, share);
    for (std::size_t i = 0; i < measurements.size(); ++i) {
        if (measurements[i] < limit) {
            slow.push_back(i);
        }
    }
    return slow;
}

SlowParts find_slow(std::size_t nodes, const std::vector<PairMeasurement>& measurements, double share) {
    // A node is as fast as its best pair: one bad link leaves that as it is, a bad node has no good one.
    std::vector<double> best(nodes, 0);
    for (const auto& [pair, bandwidth] : measurements) {
        for (const auto node : {pair.first, pair.second}) {
            if (node < nodes) {
                best[node] = std::max(best[node], bandwidth);
            }
        }
    }
    std::vector<std::size_t> measured; // a node without any measurement is neither fast nor slow
    std::vector<double> measurements_of_measured;
    for (std::size_t node = 0; node < nodes; ++node) {
        if (std::ranges::any_of(measurements, [&](const PairMeasurement& measurement) {
                return measurement.pair.first == node || measurement.pair.second == node;
            })) {
            measured.push_back(node);
            measurements_of_measured.push_back(best[node]);
        }
    }
    SlowParts slow;
    for (const auto place : slow_ones(measurements_of_measured, share)) {
        slow.nodes.push_back(measured[place]);
    }

    std::vector<double> sound;
    const auto is_slow = [&](std::size_t node) {
        return std::ranges::find(slow.nodes, node) != slow.nodes.end();
    };
    for (const auto& [pair, bandwidth] : measurements) {
        if (!is_slow(pair.first) && !is_slow(pair.second)) {
            sound.push_back(bandwidth);
        }
    }
    if (sound.empty()) {
        return slow;
    }
    slow.usual = upper_median(sound);
    if (sound.size() < 3) {
        return slow;
    }
    const auto limit = threshold(sound, share);
    for (const auto& [pair, bandwidth] : measurements) {
        if (bandwidth < limit && !is_slow(pair.first) && !is_slow(pair.second)) {
            slow.links.push_back(pair);
        }
    }
    std::ranges::sort(slow.links);
    return slow;
}

} // namespace dockdist
