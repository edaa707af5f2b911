#include "client/top/top_model.hpp"

#include "client/top/gpu_sum.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dockdist {
namespace {

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

void History::add(std::optional<double> share) {
    shares_.push_back(share);
    if (shares_.size() > 2 * shown_history) { // a point of a graph may need a few more
        shares_.pop_front();
        ++gone_;
    }
}

HistoryPoints values_of(const std::vector<Mean>& points) {
    HistoryPoints values;
    std::ranges::transform(points, std::back_inserter(values), &Mean::value);
    return values;
}

HistoryPoints History::in_columns(std::size_t columns) const {
    if (columns == 0 || shares_.empty()) {
        return HistoryPoints(columns);
    }
    std::vector<Mean> points(columns);
    const auto each = (shown_history + columns - 1) / columns;
    const auto last = (gone_ + shares_.size() - 1) / each;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
        const auto back = last - (gone_ + i) / each;
        if (back < columns) {
            points[columns - 1 - back].add(shares_[i]);
        }
    }
    return values_of(points);
}

std::optional<double> rank_load(const TopNode& node, std::size_t rank) {
    GpuSum own;
    add_gpus(own, node, node.sample.ranks[rank].gpus);
    if (own.count > 0) {
        return own.utilization.value();
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
    GpuSum sum;
    add_gpus(sum, node);
    node.load.add(sum.count == 0 ? node.rates.cpu_share : sum.utilization.value());
    std::map<int, History> gpus;
    for (std::size_t i = 0; i < node.facts.gpus.size(); ++i) {
        const auto gpu = node.facts.gpus[i].index;
        auto& history = gpus[gpu] = std::move(node.gpus[gpu]);
        history.add(i < node.sample.gpus.size() ? share_of(node.sample.gpus[i].utilization_percent)
                                                : std::nullopt);
    }
    node.gpus = std::move(gpus);
    std::map<std::pair<std::string, int>, History> ranks;
    for (std::size_t i = 0; i < node.sample.ranks.size(); ++i) {
        const std::pair place{node.sample.ranks[i].job, node.sample.ranks[i].rank};
        auto& history = ranks[place] = std::move(node.ranks[place]);
        history.add(rank_load(node, i));
    }
    node.ranks = std::move(ranks);
}

void TopModel::lose(std::size_t index, std::string why) {
    auto& node = nodes_.at(index);
    node = {.name = node.name, .trouble = std::move(why), .load = std::move(node.load)};
    node.load.add(std::nullopt);
    watch_.forget(node.name);
}

bool TopModel::complete() const {
    return std::ranges::all_of(nodes_, [](const TopNode& node) {
        return !node.trouble.empty() || (node.heard > 1 && !node.facts.asking_gpus);
    });
}

} // namespace dockdist
