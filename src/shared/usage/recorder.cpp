#include "shared/usage/recorder.hpp"

#include <algorithm>

namespace dockdist {

void Recorder::Bucket::add(const Bucket& other) {
    if (other.count == 0) {
        return;
    }
    least = count == 0 ? other.least : std::min(least, other.least);
    most = count == 0 ? other.most : std::max(most, other.most);
    sum += other.sum;
    count += other.count;
}

void Recorder::add(const Reading& reading) {
    if (!begun_ms_) {
        begun_ms_ = reading.at_ms;
        last_ms_ = reading.at_ms - interval_ms_;
    }
    const auto since_ms = std::clamp<std::int64_t>(reading.at_ms - last_ms_, 0, 2 * interval_ms_);
    const auto seconds = static_cast<double>(since_ms) / 1000;
    last_ms_ = reading.at_ms;
    const auto place_at = [&](std::int64_t at_ms) {
        return static_cast<std::size_t>(std::max<std::int64_t>(at_ms - *begun_ms_, 0) / step_ms_);
    };
    while (place_at(reading.at_ms) >= most_points_) {
        merge_pairs();
    }
    const auto place = place_at(reading.at_ms);
    // A reading that came a little late, with none in the bucket before, leaves no hole there.
    const auto first = std::min(place_at(reading.at_ms - since_ms) + 1, place);
    for (const auto& [figure, gpu, value] : reading.values) {
        const auto [sum, is_new] = sums_.try_emplace(figure);
        if (is_new || value > sum->second.peak) {
            sum->second.peak = value;
            sum->second.peak_gpu = gpu;
        }
        sum->second.weighted += value * seconds;
        sum->second.seconds += seconds;
        auto& curve = curves_[{figure, gpu}];
        if (curve.size() <= place) {
            curve.resize(place + 1);
        }
        for (auto i = first; i <= place; ++i) {
            curve[i].add({.least = value, .sum = value, .most = value, .count = 1});
        }
    }
}

void Recorder::merge_pairs() {
    step_ms_ *= 2;
    for (auto& [key, buckets] : curves_) {
        for (std::size_t i = 0; i < buckets.size(); ++i) {
            const auto bucket = buckets[i];
            if (i % 2 == 0) {
                buckets[i / 2] = bucket;
            } else {
                buckets[i / 2].add(bucket);
            }
        }
        buckets.resize((buckets.size() + 1) / 2);
    }
}

std::vector<wire::FigureUse> Recorder::figures() const {
    std::vector<wire::FigureUse> figures;
    for (const auto& [figure, sum] : sums_) {
        if (sum.seconds > 0) {
            figures.push_back({.figure = figure,
                               .mean = sum.weighted / sum.seconds,
                               .peak = sum.peak,
                               .seconds = sum.seconds,
                               .peak_gpu = sum.peak_gpu});
        }
    }
    return figures;
}

wire::JobHistory Recorder::history(std::int64_t started_ms) const {
    wire::JobHistory history{.started_ms = started_ms, .step_ms = step_ms_};
    for (const auto& [key, buckets] : curves_) {
        auto& curve = history.curves.emplace_back(wire::Curve{.figure = key.first, .gpu = key.second});
        for (const auto& bucket : buckets) {
            auto& point = curve.points.emplace_back();
            if (bucket.count > 0) {
                point = wire::CurvePoint{.least = bucket.least,
                                         .mean = bucket.sum / static_cast<double>(bucket.count),
                                         .most = bucket.most};
            }
        }
    }
    return history;
}

wire::JobHistory thinned(wire::JobHistory history, std::size_t most_points) {
    std::size_t longest = 0;
    for (const auto& curve : history.curves) {
        longest = std::max(longest, curve.points.size());
    }
    const auto points = std::max<std::size_t>(most_points, 1);
    const auto each = std::max<std::size_t>((longest + points - 1) / points, 1);
    if (each == 1) {
        return history;
    }
    history.step_ms *= static_cast<std::int64_t>(each);
    for (auto& curve : history.curves) {
        std::vector<std::optional<wire::CurvePoint>> merged;
        for (std::size_t begin = 0; begin < curve.points.size(); begin += each) {
            auto& point = merged.emplace_back();
            double sum = 0;
            int count = 0;
            for (auto i = begin; i < std::min(begin + each, curve.points.size()); ++i) {
                if (const auto& one = curve.points[i]) {
                    point = point ? wire::CurvePoint{.least = std::min(point->least, one->least),
                                                     .most = std::max(point->most, one->most)}
                                  : *one;
                    sum += one->mean;
                    ++count;
                }
            }
            if (point) {
                point->mean = sum / count;
            }
        }
        curve.points = std::move(merged);
    }
    return history;
}

} // namespace dockdist
