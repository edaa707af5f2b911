// Which nodes a job runs on.
#pragma once

#include "client/observe/observe.hpp"
#include "client/spec/node_words.hpp"
#include "shared/gpu/place.hpp"
#include "shared/launch/launcher.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Nodes of which a job gets so many.
struct NodeChoice {
    std::vector<ReadyNode> nodes{};
    Choice choice{};
    bool is_free() const { return std::ranges::any_of(choice.seats, &Seats::is_choice); }
    // Where nobody is asked how they stand: the first of each seats.
    std::vector<ReadyNode> first() const;
};

// `nodes`: those that are ready. `selection`: "" all, "N" any N, "first:N" the first N, else names, ranges
// and groups (client/spec/node_words.hpp), in the order given, "N@GROUP" any N of a group. `excluded`: such
// words, taken out first. The last `spares` of what is chosen are spare; a count alone chooses them beside
// the N. Errors (usage): more nodes than there are, an unknown or repeated name, a node both named and
// excluded, none left; (node) a node that is named and not ready: of a group those that are ready will do, or
// N of them.
Result<NodeChoice> choose_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                const std::string& selection, const std::string& excluded,
                                std::size_t spares = 0);
// The first of them.
Result<std::vector<ReadyNode>> select_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                            const std::string& selection, const std::string& excluded,
                                            std::size_t spares = 0);

// How many nodes "N" and "first:N" are; nothing where nodes are named.
std::optional<std::size_t> node_count(std::string_view selection);
// Whether it says only how many, of all or of groups: then those that are ready may be enough.
bool says_how_many(const std::string& selection);
// The words of all nodes that will do: "@rack1" for "4@rack1".
std::string without_counts(const std::string& selection);

// Those of `nodes` that `words` mean; an error as above.
Result<std::vector<ReadyNode>> named_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                           const NodeWords& words);

// A node as launchers see it. Where a variable of the user's (CUDA_VISIBLE_DEVICES, or AMD's; `own_env`: the
// job's, over the file's) names GPUs, these are what it has. Errors (usage): more ranks than it names.
Result<LaunchNode> launch_node(const ClusterSpec& spec, const ReadyNode& node,
                               const std::map<std::string, std::string>& own_env,
                               std::optional<int> ranks_per_node);

} // namespace dockdist
