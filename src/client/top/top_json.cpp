#include "client/top/top_json.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace dockdist {
namespace {

using nlohmann::json;

template <class Value>
json or_nothing(const std::optional<Value>& value) {
    return value ? json(*value) : json();
}

// What was reckoned, without digits that say nothing.
json tenths(const std::optional<double>& value) {
    return value ? json(std::round(*value * 10) / 10) : json();
}

json hundredths(const std::optional<double>& value) {
    return value ? json(std::round(*value * 100) / 100) : json();
}

json gpu_json(const wire::GpuInventory& gpu, const wire::GpuSample& sample) {
    json reasons;
    if (sample.throttle) {
        reasons = json::array();
        for (const auto& reason : wire::throttle_reasons) {
            if ((*sample.throttle & reason.bit) != 0) {
                reasons.push_back(reason.name);
            }
        }
    }
    return {{"index", gpu.index},
            {"uuid", gpu.uuid},
            {"name", gpu.name},
            {"utilization_percent", or_nothing(sample.utilization_percent)},
            {"memory_used_bytes", or_nothing(sample.memory_bytes)},
            {"memory_total_bytes", or_nothing(gpu.memory_bytes)},
            {"power_w", or_nothing(sample.power_w)},
            {"power_limit_w", or_nothing(gpu.power_limit_w)},
            {"temperature_c", or_nothing(sample.temperature_c)},
            {"sm_clock_mhz", or_nothing(sample.clock_mhz)},
            {"sm_clock_max_mhz", or_nothing(gpu.most_clock_mhz)},
            {"throttle_reasons", std::move(reasons)}};
}

json traffic_json(const std::vector<std::string>& names, const std::vector<TrafficRate>& rates,
                  const char* what) {
    auto all = json::array();
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto rate = i < rates.size() ? rates[i] : TrafficRate{};
        all.push_back({{what, names[i]},
                       {"received_bytes_per_s", tenths(rate.received)},
                       {"sent_bytes_per_s", tenths(rate.sent)}});
    }
    return all;
}

json node_json(const TopNode& node) {
    json object{{"node", node.name}, {"answers", node.heard > 0}, {"problem", node.trouble}};
    if (node.heard == 0) {
        return object;
    }
    const auto& facts = node.facts;
    const auto& sample = node.sample;
    object.update({{"time_ms", sample.at_ms},
                   {"cpus", facts.cpus},
                   {"cpu_percent",
                    tenths(node.rates.cpu_share ? std::optional(*node.rates.cpu_share * 100) : std::nullopt)},
                   {"memory_used_bytes", or_nothing(sample.memory_bytes)},
                   {"memory_total_bytes", or_nothing(facts.memory_bytes)},
                   {"disk_read_bytes_per_s", tenths(node.rates.disk_read)},
                   {"disk_written_bytes_per_s", tenths(node.rates.disk_written)},
                   {"disks", json::array()},
                   {"network", traffic_json(facts.network, node.rates.network, "interface")},
                   {"rdma", traffic_json(facts.rdma, node.rates.rdma, "port")},
                   {"driver", facts.driver},
                   {"gpu_problem", facts.gpu_problem},
                   {"gpus", json::array()},
                   {"ranks", json::array()}});
    for (std::size_t i = 0; i < facts.disks.size(); ++i) {
        object["disks"].push_back(
            {{"path", facts.disks[i].path},
             {"used_bytes", i < sample.disk_bytes.size() ? or_nothing(sample.disk_bytes[i]) : json()},
             {"size_bytes", or_nothing(facts.disks[i].size_bytes)}});
    }
    for (std::size_t i = 0; i < facts.gpus.size(); ++i) {
        object["gpus"].push_back(
            gpu_json(facts.gpus[i], i < sample.gpus.size() ? sample.gpus[i] : wire::GpuSample{}));
    }
    for (std::size_t i = 0; i < sample.ranks.size(); ++i) {
        const auto& rank = sample.ranks[i];
        object["ranks"].push_back(
            {{"job", rank.job},
             {"rank", rank.rank < 0 ? json() : json(rank.rank)},
             {"pid", rank.pid},
             {"cpus_busy", i < node.rates.rank_cpus.size() ? hundredths(node.rates.rank_cpus[i]) : json()},
             {"memory_bytes", rank.memory_bytes},
             {"gpus", rank.gpus}});
    }
    return object;
}

} // namespace

json top_json(const TopModel& model) {
    json object{{"cluster", model.cluster()}, {"nodes", json::array()}, {"findings", json::array()}};
    for (const auto& node : model.nodes()) {
        object["nodes"].push_back(node_json(node));
    }
    for (const auto& finding : model.findings()) {
        object["findings"].push_back(finding_json(finding));
    }
    return object;
}

} // namespace dockdist
