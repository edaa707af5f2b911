// Which nodes a job runs on.
#pragma once

#include "launch/launcher.hpp"
#include "observe/observe.hpp"
#include "spec/node_words.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist {

// `nodes`: those that are ready. `selection`: "" all, "N" the first N, else names, ranges and groups
// (spec/node_words.hpp), in the order given. `excluded`: such words, taken out first. The last `spares` of
// what is chosen are spare; "N" chooses them beside the N. Errors (usage): more nodes than there are, an
// unknown or repeated name, a node both named and excluded, none left; (node) a node that is named and not
// ready: of a group those that are ready will do.
Result<std::vector<ReadyNode>> select_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                            const std::string& selection, const std::string& excluded,
                                            std::size_t spares = 0);

// Those of `nodes` that `words` mean; an error as above.
Result<std::vector<ReadyNode>> named_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                           const NodeWords& words);

// A node as launchers see it. Where a variable of the user's (CUDA_VISIBLE_DEVICES, or AMD's; `own_env`: the
// job's, over the file's) names GPUs, these are what it has. Errors (usage): more ranks than it names.
Result<LaunchNode> launch_node(const ClusterSpec& spec, const ReadyNode& node,
                               const std::map<std::string, std::string>& own_env,
                               std::optional<int> ranks_per_node);

} // namespace dockdist
