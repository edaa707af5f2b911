// What `dockdist top` knows: of each node its latest sample, and how it went before. Pure.
#pragma once

#include "shared/load/findings.hpp"
#include "shared/load/mean.hpp"
#include "shared/load/rates.hpp"
#include "shared/wire/sample.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

inline constexpr std::size_t shown_history = 60; // samples that a graph has room for

// Shares from 0 to 1, the latest one last; what is not known is absent.
using HistoryPoints = std::vector<std::optional<double>>;
HistoryPoints values_of(const std::vector<Mean>& points);

class History {
public:
    void add(std::optional<double> share);
    // All of it in so many points: each the mean of as many samples, which stay together as it moves on.
    HistoryPoints in_columns(std::size_t columns) const;

private:
    std::deque<std::optional<double>> shares_{};
    std::size_t gone_ = 0; // before these
};

struct TopNode {
    std::string name{};
    int heard = 0;         // samples since it answers; with two there are rates
    std::string trouble{}; // why nothing is heard of it, a sentence; empty: all is well, or it was just asked
    wire::SampleFacts facts{};
    wire::Sample sample{};
    NodeRates rates{};
    History load{};                                         // of its GPUs, without any of its CPUs
    std::map<int, History> gpus{};                          // utilisation, by index
    std::map<std::pair<std::string, int>, History> ranks{}; // of its GPUs, else of its CPUs against one
};

// What the nodes know of a job beside its processes. Of one that waits for GPUs that is all there is.
struct TopJob {
    std::string name{};
    std::string owner{};     // USER@MACHINE
    std::int64_t for_ms = 0; // since it began, or waits
    std::string waits{};     // "2 GPUs, place 1"; empty: it runs
};

class TopModel {
public:
    // `job`: what is of another job is left out; empty: nothing.
    TopModel(std::string cluster, std::vector<std::string> nodes, std::string job = {});

    void hear(std::size_t node, const wire::SampleFacts& facts, wire::Sample sample);
    void lose(std::size_t node, std::string why);
    void know(std::vector<TopJob> jobs) { jobs_ = std::move(jobs); }

    const std::string& cluster() const { return cluster_; }
    const std::string& job() const { return job_; }
    const std::vector<TopNode>& nodes() const { return nodes_; }
    const std::vector<TopJob>& jobs() const { return jobs_; }
    std::vector<Finding> findings() const { return watch_.findings(); }
    // Whether each node has told what there is to be told, rates too, or is not there.
    bool complete() const;

private:
    std::string cluster_, job_;
    std::vector<TopNode> nodes_{};
    std::vector<TopJob> jobs_{};
    FindingWatch watch_{};
};

// Of the rank's own GPUs; without any of these, the CPUs that it keeps busy, 1 at most.
std::optional<double> rank_load(const TopNode& node, std::size_t rank);

} // namespace dockdist
