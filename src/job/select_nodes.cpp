#include "job/select_nodes.hpp"

#include "core/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dockdist {
namespace {

NodeWords of_option(const char* option, const std::string& text) {
    return {.option = option, .text = text, .ranks = Ranks::refused}; // a number alone is a count
}

} // namespace

Result<std::vector<ReadyNode>> named_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                           const NodeWords& words) {
    const auto named = find_named(spec, words);
    if (!named) {
        return named.error();
    }
    std::map<NodeName, const ReadyNode*> ready;
    for (const auto& node : nodes) {
        ready[node.name] = &node;
    }
    std::vector<ReadyNode> found;
    for (const auto& node : *named) {
        if (const auto there = ready.find(node.name); there != ready.end()) {
            found.push_back(*there->second);
        } else if (node.by_name || named->size() == 1) {
            return Error{ErrorKind::node, words.option, "the node `" + node.name.str() + "` is not ready",
                         "run `dockdist up` to bring it back, or leave it out"};
        }
    }
    if (found.empty()) {
        return Error{ErrorKind::node, words.option, "no node of `" + words.text + "` is ready",
                     "run `dockdist up`"};
    }
    return found;
}

Result<std::vector<ReadyNode>> select_nodes(const ClusterSpec& spec, const std::vector<ReadyNode>& nodes,
                                            const std::string& selection, const std::string& excluded,
                                            std::size_t spares) {
    const auto count = whole_number<std::size_t>(selection);
    auto chosen = selection.empty() || count ? Result<std::vector<ReadyNode>>(nodes)
                                             : named_nodes(spec, nodes, of_option("--nodes", selection));
    if (!chosen) {
        return chosen;
    }
    if (!excluded.empty()) {
        const auto out = find_named(spec, of_option("--exclude", excluded));
        if (!out) {
            return out.error();
        }
        for (const auto& node : *out) {
            const auto erased =
                std::erase_if(*chosen, [&](const ReadyNode& other) { return other.name == node.name; });
            const bool ready = std::ranges::find(nodes, node.name, &ReadyNode::name) != nodes.end();
            if (erased == 0 && node.by_name && ready) {
                return Error{ErrorKind::usage, "--exclude",
                             "`" + node.name.str() + "` is not among the nodes of --nodes", ""};
            }
        }
    }
    if (chosen->empty()) {
        return Error{ErrorKind::usage, "--exclude", "no node is left", "exclude less"};
    }
    if (count) {
        if (*count == 0 || *count + spares > chosen->size()) {
            return Error{ErrorKind::usage, "--nodes",
                         fmt::format("{} nodes{} were asked for, {} {}", *count,
                                     spares == 0 ? "" : fmt::format(" and {} spare", spares),
                                     excluded.empty() ? "the cluster has" : "without --exclude's there are",
                                     chosen->size()),
                         spares == 0 ? "ask for less, or add hosts to the file and run `dockdist up`"
                                     : "ask for less, or for fewer spare ones: --spares 0"};
        }
        chosen->resize(*count + spares);
    }
    if (spares >= chosen->size()) {
        return Error{ErrorKind::usage, "--spares",
                     fmt::format("of {} node{} {} would be spare: none is left to run the job",
                                 chosen->size(), chosen->size() == 1 ? "" : "s", spares),
                     "choose more nodes, or fewer spare ones: --spares 0"};
    }
    return chosen;
}

} // namespace dockdist
