#include "job/select_nodes.hpp"

#include "core/number.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {

namespace {

// The nodes of these names, in their order.
Result<std::vector<ReadyNode>> find_nodes(const std::vector<ReadyNode>& nodes, const std::string& list,
                                          const char* option) {
    std::vector<ReadyNode> chosen;
    std::vector<std::string_view> names;
    for (const auto& node : nodes) {
        names.push_back(node.name.str());
    }
    for (const auto& name : split(list, ',')) {
        const auto found = std::ranges::find(nodes, NodeName(name), &ReadyNode::name);
        if (found == nodes.end()) {
            const auto meant = nearest(name, names);
            return Error{ErrorKind::usage, option, "there is no node `" + printable(name) + "`",
                         meant.empty() ? fmt::format("nodes: {}", fmt::join(names, ", "))
                                       : "did you mean `" + meant + "`?"};
        }
        if (std::ranges::find(chosen, found->name, &ReadyNode::name) != chosen.end()) {
            return Error{ErrorKind::usage, option, "`" + name + "` is named twice", ""};
        }
        chosen.push_back(*found);
    }
    return chosen;
}

} // namespace

Result<std::vector<ReadyNode>> select_nodes(std::vector<ReadyNode> nodes, const std::string& selection,
                                            const std::string& excluded, std::size_t spares) {
    const auto count = whole_number<std::size_t>(selection);
    auto chosen = selection.empty() || count ? Result<std::vector<ReadyNode>>(nodes)
                                             : find_nodes(nodes, selection, "--nodes");
    if (!chosen) {
        return chosen;
    }
    if (!excluded.empty()) {
        const auto out = find_nodes(nodes, excluded, "--exclude");
        if (!out) {
            return out.error();
        }
        for (const auto& node : *out) {
            if (std::erase_if(*chosen, [&](const ReadyNode& other) { return other.name == node.name; }) ==
                0) {
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
