// Nodes as people name them on a command line: "node-3", "node-[0-61]", a host's name, "@rack2" for the nodes
// of a group, "4@rack2" for the first four of them, and "3" for a rank where that cannot be a count.
#pragma once

#include "client/spec/cluster_spec.hpp"
#include "shared/core/result.hpp"

#include <string>
#include <vector>

namespace dockdist {

enum class Ranks { refused, taken };

struct NodeWords {
    std::string option{}; // for messages: "--nodes"; may be empty
    std::string text{};   // between commas; not empty
    Ranks ranks = Ranks::taken;
};

struct NamedNode {
    NodeName name{};
    bool by_name = false; // not only as one of a group
};

// In the order of the words, each once. Errors (usage): no such node, group or host, with what there is; a
// name that stands there twice; a group of fewer nodes than asked for.
Result<std::vector<NamedNode>> find_named(const ClusterSpec& spec, const NodeWords& words);

// The groups of the file's hosts, sorted.
std::vector<std::string> group_names(const ClusterSpec& spec);

} // namespace dockdist
