// The samples of all nodes, for as long as somebody looks: a node that goes away is asked again until it is
// back, also as another container. Each host is asked for itself: one that hangs holds up its own nodes
// alone.
#pragma once

#include "client/async/async_event.hpp"
#include "client/cli/context.hpp"
#include "shared/wire/sample.hpp"

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
    std::vector<ReadyNode> found() const;                            // that are there now, as far as is known
    // Until it is cancelled.
    Task<Error> run();
    // Beside run(), until a node is there; or errors, of every node: none is.
    Task<Errors> first_found();

private:
    Task<Status> follow(std::size_t index);
    Task<Status> find_nodes_of(std::size_t host);
    Task<void> look_at(std::size_t host);
    bool has_all(std::size_t host) const; // its nodes

    const Connected& cluster_;
    int interval_ms_;
    Hears hears_;
    std::vector<std::string> names_{};
    std::vector<std::size_t> hosts_{};
    std::vector<std::optional<ReadyNode>> ready_{}; // nothing: it is not there, or has failed twice
    std::vector<std::optional<Error>> missing_{};   // why it is not there, as far as somebody has looked
    AsyncEvent changed_;
};

} // namespace dockdist
