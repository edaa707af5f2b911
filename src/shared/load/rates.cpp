#include "shared/load/rates.hpp"

#include <algorithm>
#include <cstdint>

namespace dockdist {
namespace {

template <class Count>
std::optional<double> rate(const std::optional<Count>& before, const std::optional<Count>& now,
                           double seconds) {
    if (!before || !now || *now < *before || seconds <= 0) {
        return std::nullopt;
    }
    return static_cast<double>(*now - *before) / seconds;
}

std::vector<TrafficRate> traffic_rates(const std::vector<wire::TrafficCount>& before,
                                       const std::vector<wire::TrafficCount>& now, double seconds) {
    std::vector<TrafficRate> rates(now.size());
    for (std::size_t i = 0; i < now.size() && before.size() == now.size(); ++i) {
        rates[i] = {.received = rate(before[i].received, now[i].received, seconds),
                    .sent = rate(before[i].sent, now[i].sent, seconds)};
    }
    return rates;
}

} // namespace

NodeRates rates_between(const wire::SampleFacts& facts, const wire::Sample& before, const wire::Sample& now) {
    const auto seconds = static_cast<double>(now.clock_ms - before.clock_ms) / 1000;
    NodeRates rates{.seconds = seconds,
                    .disk_read = rate(before.disk_read, now.disk_read, seconds),
                    .disk_written = rate(before.disk_written, now.disk_written, seconds),
                    .network = traffic_rates(before.network, now.network, seconds),
                    .rdma = traffic_rates(before.rdma, now.rdma, seconds)};
    if (const auto busy_ms = rate(before.cpu_ms, now.cpu_ms, seconds); busy_ms && facts.cpus > 0) {
        rates.cpu_share = std::min(*busy_ms / 1000 / facts.cpus, 1.0); // its ticks are counted roughly
    }
    for (const auto& rank : now.ranks) {
        const auto same = std::ranges::find_if(before.ranks, [&](const wire::RankSample& one) {
            return one.job == rank.job && one.rank == rank.rank;
        });
        auto& cpus = rates.rank_cpus.emplace_back();
        if (same != before.ranks.end()) {
            if (const auto ms = rate(std::optional(same->cpu_ms), std::optional(rank.cpu_ms), seconds)) {
                cpus = *ms / 1000;
            }
        }
    }
    return rates;
}

TrafficRate sum_of(const std::vector<TrafficRate>& rates) {
    TrafficRate sum;
    for (const auto& rate : rates) {
        if (rate.received) {
            sum.received = sum.received.value_or(0) + *rate.received;
        }
        if (rate.sent) {
            sum.sent = sum.sent.value_or(0) + *rate.sent;
        }
    }
    return sum;
}

const wire::GpuSample* gpu_at(const wire::SampleFacts& facts, const wire::Sample& sample, int index) {
    const auto found = std::ranges::find(facts.gpus, index, &wire::GpuInventory::index);
    const auto place = static_cast<std::size_t>(found - facts.gpus.begin());
    return place < sample.gpus.size() ? &sample.gpus[place] : nullptr;
}

} // namespace dockdist
