#include "client/check/collective_rows.hpp"

#include "client/check/probe_text.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/units.hpp"
#include "shared/measurement/known_good.hpp"
#include "shared/measurement/slow_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dockdist {
namespace {

using State = CheckRow::State;

constexpr auto memory_hint = "is there GPU memory to spare? See nvidia-smi";
constexpr auto slow_node_hint =
    "compare the node with the others: clocks and power limits (`nvidia-smi -q -d PERFORMANCE,POWER`), "
    "NVLink "
    "(`nvidia-smi nvlink -s`, `nvidia-smi topo -m`), PCIe width, and what else runs there";
constexpr auto slow_pair_hint = "look at the network between them: NIC rate (`ethtool`, `ibstat`), cable, "
                                "switch port, GPU-to-NIC affinity "
                                "(`nvidia-smi topo -m`), NCCL_IB_HCA and NCCL_SOCKET_IFNAME";

CheckRow collective_row(State state, std::string subject, std::string check, std::string text,
                        std::string hint = {}) {
    return {.state = state,
            .layer = CheckLayer::collective,
            .subject = std::move(subject),
            .check = std::move(check),
            .text = std::move(text),
            .hint = std::move(hint)};
}

std::string gigabytes(double gbps) {
    return gbps >= 100 ? fmt::format("{:.0f} GB/s", gbps) : fmt::format("{:.3g} GB/s", gbps);
}

std::string size(std::uint64_t bytes) {
    return format_size(Bytes{bytes});
}

std::string gpus(int count) {
    return counted(count, "GPU");
}

// That of all_reduce of float with the largest size, `most` at most; null where there is none.
const CollectiveMeasurement* all_reduce(const std::vector<CollectiveMeasurement>& measurements,
                                        std::uint64_t most = UINT64_MAX) {
    const CollectiveMeasurement* found = nullptr;
    for (const auto& measurement : measurements) {
        if (measurement.operation == "all_reduce" && measurement.data_type == "float" &&
            measurement.bytes <= most && (found == nullptr || measurement.bytes > found->bytes)) {
            found = &measurement;
        }
    }
    return found;
}

struct Alone {
    std::size_t node = 0;
    const ProbeWorld* world = nullptr;
    std::vector<CollectiveMeasurement> measurements{};
    const CollectiveMeasurement* best = nullptr;
};

// The worst grade of all operations that have a known measurement.
struct Graded {
    Grading grading{};
    const CollectiveMeasurement* measurement = nullptr;
};
Graded grade_all(const Alone& alone) {
    Graded worst;
    const auto name = text_of(alone.world->ranks.front().device, "name");
    std::map<std::string, const CollectiveMeasurement*> largest;
    for (const auto& measurement : alone.measurements) {
        auto& known = largest[measurement.operation];
        if (known == nullptr || measurement.bytes > known->bytes ||
            (measurement.bytes == known->bytes && measurement.bus_bandwidth > known->bus_bandwidth)) {
            known = &measurement;
        }
    }
    for (const auto& [operation, measurement] : largest) {
        const auto parsed = parse_operation(operation);
        const auto grading =
            parsed ? grade(name, *parsed, measurement->ranks, measurement->bytes, measurement->bus_bandwidth)
                   : Grading{};
        if (grading.grade > worst.grading.grade) {
            worst = {.grading = grading, .measurement = measurement};
        }
    }
    return worst;
}

CheckRow alone_row(const std::vector<NodeName>& nodes, const Alone& alone,
                   const std::vector<double>& compared, bool slow) {
    const auto& subject = nodes[alone.node].str();
    const auto nccl = text_of(alone.world->ranks.front().device, "nccl");
    const auto version = nccl.empty() ? "" : "; NCCL " + nccl;
    const auto& best = *alone.best;
    if (best.copy) {
        return collective_row(
            State::pass, subject, "nccl",
            fmt::format("1 GPU: every element right; {} is a copy in its own memory, not graded{}",
                        gigabytes(best.algorithm_bandwidth), version));
    }
    const auto transports = transport_words(*alone.world);
    auto text = fmt::format("{}: all_reduce {} ({}), every element right{}{}{}", gpus(best.ranks),
                            gigabytes(best.bus_bandwidth), size(best.bytes),
                            transports.empty() ? "" : ", over ", transports, version);
    if (const auto graded = grade_all(alone); graded.grading.grade != Grade::none) {
        text += fmt::format("; known good: {} of {} for {} ({})",
                            gigabytes(graded.grading.known->bus_bandwidth), graded.measurement->operation,
                            text_of(alone.world->ranks.front().device, "name"), graded.grading.known->source);
        if (graded.grading.grade != Grade::pass) {
            text += fmt::format("; here {}", gigabytes(graded.measurement->bus_bandwidth));
            return collective_row(graded.grading.grade == Grade::warn ? State::warn : State::fail, subject,
                                  "nccl", text, slow_node_hint);
        }
    }
    if (slow) {
        text += fmt::format("; the other nodes reach {}", gigabytes(*std::ranges::max_element(compared)));
        return collective_row(State::warn, subject, "nccl", text, slow_node_hint);
    }
    return collective_row(State::pass, subject, "nccl", text);
}

// The largest size that all have measured.
std::uint64_t common_size(const std::vector<std::vector<CollectiveMeasurement>>& worlds) {
    auto common = UINT64_MAX;
    for (const auto& measurements : worlds) {
        const auto* largest = all_reduce(measurements);
        common = std::min(common, largest == nullptr ? UINT64_MAX : largest->bytes);
    }
    return common;
}

} // namespace

std::vector<CollectiveMeasurement> measurements_of(const ProbeWorld& world) {
    std::vector<CollectiveMeasurement> measurements;
    if (world.ranks.empty()) {
        return measurements;
    }
    auto count = world.ranks.front().measurements.size();
    for (const auto& rank : world.ranks) {
        count = std::min(count, rank.measurements.size());
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto& line = world.ranks.front().measurements[i];
        CollectiveMeasurement measurement{.nodes = world.nodes,
                                          .ranks = static_cast<int>(world.ranks.size()),
                                          .operation = text_of(line, "operation"),
                                          .data_type = text_of(line, "data_type"),
                                          .bytes = count_of(line, "bytes"),
                                          .copy = text_of(line, "kind") == "copy"};
        for (const auto& rank : world.ranks) {
            measurement.time_us += number_of(rank.measurements[i], "time_us");
            measurement.wrong += count_of(rank.measurements[i], "wrong");
        }
        measurement.time_us /= static_cast<double>(world.ranks.size());
        const auto operation = parse_operation(measurement.operation);
        if (operation && measurement.time_us > 0) {
            const auto bandwidth =
                bandwidth_of(*operation, measurement.bytes, measurement.time_us * 1e-6, measurement.ranks);
            measurement.algorithm_bandwidth = bandwidth.algorithm;
            measurement.bus_bandwidth = bandwidth.bus;
        }
        measurements.push_back(std::move(measurement));
    }
    return measurements;
}

std::vector<CheckRow> judge_alone(const std::vector<NodeName>& nodes, const std::vector<ProbeWorld>& worlds) {
    std::vector<Alone> all;
    for (const auto& world : worlds) {
        auto wrong =
            std::ranges::any_of(world.ranks, [](const ProbeRank& rank) { return wrong_elements(rank) != 0; });
        if (world.complete() && !wrong && !world.nodes.empty()) {
            all.push_back(
                {.node = world.nodes.front(), .world = &world, .measurements = measurements_of(world)});
        }
    }
    // Vectors that stay where they are: pointers into them from here on.
    std::vector<std::vector<CollectiveMeasurement>> comparable;
    for (auto& one : all) {
        one.best = all_reduce(one.measurements);
        if (one.best != nullptr && !one.best->copy) {
            comparable.push_back(one.measurements);
        }
    }
    const auto common = common_size(comparable);
    // Nodes compare with those that have as many GPUs.
    std::map<int, std::vector<double>> by_count;
    for (const auto& one : all) {
        if (one.best != nullptr && !one.best->copy) {
            by_count[one.best->ranks].push_back(all_reduce(one.measurements, common)->bus_bandwidth);
        }
    }
    std::map<int, std::size_t> next;
    std::vector<CheckRow> rows;
    for (const auto& one : all) {
        if (one.best == nullptr) {
            rows.push_back(collective_row(State::warn, nodes[one.node].str(), "nccl",
                                          "nothing was measured: every size was too large", memory_hint));
            continue;
        }
        const auto& compared = by_count[one.best->ranks];
        const auto slow = slow_ones(compared);
        const bool is_slow =
            !one.best->copy && std::ranges::find(slow, next[one.best->ranks]++) != slow.end();
        rows.push_back(alone_row(nodes, one, compared, is_slow));
    }
    return rows;
}

std::vector<CheckRow> judge_pairs(const std::vector<NodeName>& nodes, const std::vector<ProbeWorld>& worlds) {
    std::vector<std::vector<CollectiveMeasurement>> measured;
    std::vector<Pair> pairs;
    for (const auto& world : worlds) {
        if (world.complete() && world.nodes.size() == 2) {
            if (auto measurements = measurements_of(world); all_reduce(measurements) != nullptr) {
                measured.push_back(std::move(measurements));
                pairs.emplace_back(std::minmax(world.nodes[0], world.nodes[1]));
            }
        }
    }
    if (measured.empty()) {
        return std::ranges::none_of(worlds, &ProbeWorld::complete)
                   ? std::vector<CheckRow>{}
                   : std::vector{collective_row(State::warn, "all pairs", "nccl-pairs",
                                                "nothing was measured: every size was too large",
                                                memory_hint)};
    }
    const auto common = common_size(measured);
    std::vector<PairMeasurement> measurements;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        if (const auto* measurement = all_reduce(measured[i], common)) {
            measurements.push_back({.pair = pairs[i], .bandwidth = measurement->bus_bandwidth});
        }
    }
    const auto slow = find_slow(nodes.size(), measurements);
    const auto of_pair = [&](Pair pair) {
        const auto found = std::ranges::find(measurements, pair, &PairMeasurement::pair);
        return found == measurements.end() ? 0 : found->bandwidth;
    };
    const auto state = [&](double measurement) {
        return measurement < slow.usual / 2 ? State::fail : State::warn;
    };
    std::vector<CheckRow> rows;
    for (const auto node : slow.nodes) {
        double best = 0;
        for (const auto& measurement : measurements) {
            if (measurement.pair.first == node || measurement.pair.second == node) {
                best = std::max(best, measurement.bandwidth);
            }
        }
        rows.push_back(collective_row(
            state(best), nodes[node].str(), "nccl-pairs",
            fmt::format("slow with every other node: all_reduce {} at best, the other pairs {}",
                        gigabytes(best), gigabytes(slow.usual)),
            slow_pair_hint));
    }
    for (const auto& link : slow.links) {
        const auto bandwidth = of_pair(link);
        rows.push_back(collective_row(state(bandwidth), node_names(nodes, {link.first, link.second}),
                                      "nccl-pairs",
                                      fmt::format("slow: all_reduce {}, other pairs of both nodes {}",
                                                  gigabytes(bandwidth), gigabytes(slow.usual)),
                                      slow_pair_hint));
    }
    if (rows.empty()) {
        const auto [least, most] = std::ranges::minmax_element(measurements, {}, &PairMeasurement::bandwidth);
        rows.push_back(collective_row(State::pass, "all pairs", "nccl-pairs",
                                      fmt::format("all_reduce {} to {} ({})", gigabytes(least->bandwidth),
                                                  gigabytes(most->bandwidth), size(common))));
    }
    return rows;
}

std::vector<CheckRow> judge_all(const std::vector<NodeName>& nodes, const ProbeWorld& world) {
    std::vector<CheckRow> rows;
    const auto measurements = measurements_of(world);
    const auto wrong =
        std::ranges::any_of(world.ranks, [](const ProbeRank& rank) { return wrong_elements(rank) != 0; });
    if (world.complete() && !wrong && world.nodes.size() > 1) {
        if (const auto* best = all_reduce(measurements)) {
            rows.push_back(collective_row(
                State::pass,
                world.nodes.size() == nodes.size() ? "all nodes" : node_names(nodes, world.nodes), "nccl",
                fmt::format("{} of {} nodes: all_reduce {} ({}), every element of {} measurements right",
                            gpus(best->ranks), world.nodes.size(), gigabytes(best->bus_bandwidth),
                            size(best->bytes), measurements.size())));
        }
    }
    return rows;
}

} // namespace dockdist
