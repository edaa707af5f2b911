// All nodes asked side by side, each in one conversation: two round trips to open it, one for the facts, and
// two more where mounts are compared.
#pragma once

#include "client/check/checked_node.hpp"
#include "client/check/node_session.hpp"
#include "client/container/types.hpp"
#include "client/report/event.hpp"
#include "client/spec/cluster_spec.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// A ready node, and what it told. The session stays open for further questions.
struct AskedNode {
    const ReadyNode* node = nullptr;
    const NodeSpec* spec = nullptr;
    std::string image_id{};
    std::unique_ptr<NodeSession> session{};
    Result<CheckedNode> told{CheckedNode{}}; // an error: the node did not answer at all
    Result<ImageDetails> image{ImageDetails{}};
};

// Fills in the sessions, what the nodes told and the images. `mounts`: the folders to compare. `answered` is
// called when a node has told its facts, or will not.
Task<void> ask_nodes(const ClusterSpec& spec, const Engines& engines, std::vector<AskedNode>& nodes,
                     std::vector<std::string> mounts, std::function<void()> answered);

// For a deep check: the logins that were left out, in rounds.
Task<void> ask_further_logins(std::vector<AskedNode>& nodes, Reporter& reporter);

} // namespace dockdist
