#include "top/top_model.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

void add_point(History& history, std::optional<double> share) {
    history.push_back(share);
    if (history.size() > longest_history) {
        history.pop_front();
    }
}

std::optional<double> share_of(const std::optional<double>& percent) {
    return percent ? std::optional(std::clamp(*percent / 100, 0.0, 1.0)) : std::nullopt;
}

// Leaves in the sample what is of the job, and returns the facts that are left: GPUs of its ranks alone.
wire::SampleFacts of_job(const std::string& job, const wire::SampleFacts& all, wire::Sample& sample) {
    std::erase_if(sample.ranks, [&](const wire::RankSample& rank) { return rank.job != job; });
    auto facts = all;
    facts.gpus.clear();
    std::vector<wire::GpuSample> gpus;
    for (std::size_t i = 0; i < all.gpus.size(); ++i) {
        const auto index = all.gpus[i].index;
        if (std::ranges::any_of(sample.ranks, [&](const wire::RankSample& rank) {
                return std::ranges::find(rank.gpus, index) != rank.gpus.end();
            })) {
            facts.gpus.push_back(all.gpus[i]);
            gpus.push_back(i < sample.gpus.size() ? sample.gpus[i] : wire::GpuSample{});
        }
    }
    sample.gpus = sample.gpus.empty() ? std::vector<wire::GpuSample>{} : std::move(gpus);
    return facts;
}

} // namespace

std::optional<double> mean_utilization(const std::vector<wire::GpuSample>& gpus) {
    double sum = 0;
    int count = 0;
    for (const auto& gpu : gpus) {
        if (gpu.utilization_percent) {
            sum += *gpu.utilization_percent / 100;
            ++count;
        }
    }
    return count > 0 ? std::optional(std::clamp(sum / count, 0.0, 1.0)) : std::nullopt;
}

std::optional<double> rank_load(const TopNode& node, std::size_t rank) {
    std::vector<wire::GpuSample> own;
    for (const auto index : node.sample.ranks[rank].gpus) {
        if (const auto* gpu = gpu_at(node.facts, node.sample, index)) {
            own.push_back(*gpu);
        }
    }
    if (!own.empty()) {
        return mean_utilization(own);
    }
    const auto cpus = rank < node.rates.rank_cpus.size() ? node.rates.rank_cpus[rank] : std::nullopt;
    return cpus ? std::optional(std::min(*cpus, 1.0)) : std::nullopt;
}

TopModel::TopModel(std::string cluster, std::vector<std::string> nodes, std::string job)
    : cluster_(std::move(cluster)), job_(std::move(job)) {
    for (auto& name : nodes) {
        nodes_.push_back({.name = std::move(name)});
    }
}

void TopModel::hear(std::size_t index, const wire::SampleFacts& all, wire::Sample sample) {
    auto& node = nodes_.at(index);
    const auto facts = job_.empty() ? all : of_job(job_, all, sample);
    const bool goes_on = node.heard > 0 && node.facts.network == facts.network &&
                         node.facts.rdma == facts.rdma && node.sample.clock_ms < sample.clock_ms;
    node.rates = goes_on ? rates_between(facts, node.sample, sample) : NodeRates{};
    node.facts = facts;
    node.sample = std::move(sample);
    node.heard = goes_on ? node.heard + 1 : 1;
    node.trouble.clear();
    watch_.hear(node.name, node.facts, node.sample);
    add_point(node.load, node.facts.gpus.empty() ? node.rates.cpu_share : mean_utilization(node.sample.gpus));
    for (std::size_t i = 0; i < node.facts.gpus.size(); ++i) {
        add_point(node.gpus[node.facts.gpus[i].index], i < node.sample.gpus.size()
                                                           ? share_of(node.sample.gpus[i].utilization_percent)
                                                           : std::nullopt);
    }
    std::map<std::pair<std::string, int>, History> ranks;
    for (std::size_t i = 0; i < node.sample.ranks.size(); ++i) {
        const std::pair place{node.sample.ranks[i].job, node.sample.ranks[i].rank};
        auto& history = ranks[place] = std::move(node.ranks[place]);
        add_point(history, rank_load(node, i));
    }
    node.ranks = std::move(ranks);
}

void TopModel::lose(std::size_t index, std::string why) {
    auto& node = nodes_.at(index);
    node = {.name = node.name, .trouble = std::move(why), .load = std::move(node.load)};
    add_point(node.load, std::nullopt);
    watch_.forget(node.name);
}

bool TopModel::complete() const {
    return std::ranges::all_of(nodes_, [](const TopNode& node) {
        return !node.trouble.empty() || (node.heard > 1 && !node.facts.asking_gpus);
    });
}

} // namespace dockdist
