// The latest samples of all nodes of the file, for as long as it is asked, as Prometheus is told of them.
#pragma once

#include "client/async/async_event.hpp"
#include "client/cli/context.hpp"
#include "client/cli/looking/node_feeds.hpp"
#include "client/prometheus/exposition.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

class SampledNodes {
public:
    // The context and the cluster outlive it.
    SampledNodes(Context& context, const Connected& cluster, std::chrono::milliseconds interval);

    // Until it is cancelled. What becomes of a node is told as it changes.
    Task<void> follow();
    // Every node has told all that it has, or that it does not answer; at most for so long.
    Task<void> first_round(std::chrono::milliseconds limit);
    // What it lacks, a node each.
    Errors missing() const;

    const std::vector<SampledNode>& nodes() const { return nodes_; }

private:
    void hear(std::size_t index, const wire::SampleFacts& facts, wire::Sample sample);
    void is_down(std::size_t index, const Error& error);
    bool all_complete() const;

    Context& context_;
    std::vector<SampledNode> nodes_{}; // in the order of the feeds
    std::vector<bool> complete_{};     // each has told all that it has, or is down
    std::vector<std::string> told_{};  // of each that is down, why
    AsyncEvent changed_;
    NodeFeeds feeds_;
};

} // namespace dockdist
