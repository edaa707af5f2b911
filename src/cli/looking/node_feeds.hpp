// The samples of all nodes, for as long as somebody looks: a node that goes away is asked again until it is
// back, also as another container.
#pragma once

#include "async/async_event.hpp"
#include "cli/context.hpp"
#include "wire/sample.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

class NodeFeeds {
public:
    struct Hears {
        // By the index into names().
        std::function<void(std::size_t node, const wire::SampleFacts& facts, wire::Sample sample)> sample{};
        std::function<void(std::size_t node, const Error& why)> trouble{};
    };
    // `only`: names of nodes; empty: all that the file names. The cluster outlives it.
    NodeFeeds(const Context& context, const Connected& cluster, const std::vector<std::string>& only,
              int interval_ms, Hears hears);

    const std::vector<std::string>& names() const { return names_; } // in the file's order
    // Which nodes are there; each that is not has its trouble told. Errors: of all those.
    Task<Errors> look();
    // Until it is cancelled.
    Task<Error> run();

private:
    Task<Status> follow(std::size_t index);
    Task<Status> find_again();

    const Connected& cluster_;
    int interval_ms_;
    Hears hears_;
    std::vector<std::string> names_{};
    std::vector<std::size_t> hosts_{};
    std::vector<std::optional<ReadyNode>> doors_{}; // nothing: it is not there, or has failed twice
    AsyncEvent changed_;
};

} // namespace dockdist
