#include "job/select_nodes.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace dockdist {

Result<std::vector<ReadyNode>> select_nodes(const std::vector<ReadyNode>& nodes,
                                            const std::string& selection) {
    if (selection.empty()) {
        return nodes;
    }
    std::size_t count = 0;
    const auto* end = selection.data() + selection.size();
    if (const auto [rest, error] = std::from_chars(selection.data(), end, count);
        error == std::errc{} && rest == end) {
        if (count == 0 || count > nodes.size()) {
            return Error{ErrorKind::usage, "--nodes",
                         fmt::format("{} nodes were asked for, the cluster has {}", count, nodes.size()),
                         "ask for less, or add hosts to the file and run `dockdist up`"};
        }
        return std::vector<ReadyNode>(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count));
    }
    std::vector<ReadyNode> chosen;
    std::vector<std::string_view> names;
    for (const auto& node : nodes) {
        names.push_back(node.name.str());
    }
    for (const auto& name : split(selection, ',')) {
        const auto found = std::ranges::find(nodes, NodeName(name), &ReadyNode::name);
        if (found == nodes.end()) {
            const auto meant = nearest(name, names);
            return Error{ErrorKind::usage, "--nodes", "there is no node `" + printable(name) + "`",
                         meant.empty() ? fmt::format("nodes: {}", fmt::join(names, ", "))
                                       : "did you mean `" + meant + "`?"};
        }
        if (std::ranges::find(chosen, found->name, &ReadyNode::name) != chosen.end()) {
            return Error{ErrorKind::usage, "--nodes", "`" + name + "` is named twice", ""};
        }
        chosen.push_back(*found);
    }
    return chosen;
}

Port rendezvous_port(const JobId& job) {
    constexpr std::uint32_t first = 20000;
    constexpr std::uint32_t count = 10000;
    std::uint32_t hash = 2166136261; // FNV-1a
    for (const char c : job.str()) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    }
    return Port{static_cast<std::uint16_t>(first + hash % count)};
}

} // namespace dockdist
