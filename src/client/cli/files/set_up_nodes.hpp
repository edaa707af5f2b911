// `setup:` of the file, on the nodes that have not done it: after `up` and by `dockdist setup`.
#pragma once

#include "client/cli/context.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

struct SetupOptions {
    bool skip = false;
    bool again = false; // every line on every node, whatever they remember
};

// One line of `setup:`.
struct SetupDone {
    std::vector<NodeName> done{};   // now
    std::vector<NodeName> before{}; // and not again
};

struct SetupResult {
    std::vector<SetupDone> lines{}; // as many as were begun
    Errors errors{};
};

// Line by line, each as a job of all nodes that want it, whose output comes as notes with the node's name.
// The first line that fails on any node ends it there; what was done stays done.
Task<SetupResult> set_up_nodes(Context& context, const ClusterSpec& spec, const Engines& engines,
                               std::vector<ReadyNode> nodes, const SetupOptions& options);

} // namespace dockdist
