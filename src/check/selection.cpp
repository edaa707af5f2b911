#include "check/selection.hpp"

#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

Error unknown(const ClusterSpec& spec, const std::vector<NodeSpec>& nodes, const std::string& name) {
    std::vector<std::string_view> known;
    for (const auto& host : spec.hosts) {
        known.emplace_back(host.name.str());
    }
    for (const auto& node : nodes) {
        if (std::ranges::find(known, std::string_view(node.name.str())) == known.end()) {
            known.emplace_back(node.name.str());
        }
    }
    const auto near = nearest(name, known);
    return {ErrorKind::usage, "--host", "the file has no host or node `" + printable(name) + "`",
            near.empty() ? fmt::format("it has {}", fmt::join(known, ", ")) : "did you mean `" + near + "`?"};
}

} // namespace

CheckSelection all_for_check(const ClusterSpec& spec) {
    return {.hosts = std::vector<bool>(spec.hosts.size(), true), .nodes = expand_nodes(spec)};
}

Result<CheckSelection> select_for_check(const ClusterSpec& spec, const std::vector<std::string>& names) {
    if (names.empty()) {
        return all_for_check(spec);
    }
    CheckSelection selection{.hosts = std::vector<bool>(spec.hosts.size())};
    const auto nodes = expand_nodes(spec);
    std::vector<bool> chosen(nodes.size());
    for (const auto& name : names) {
        bool found = false;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (nodes[i].name.str() == name || spec.hosts[nodes[i].host].name.str() == name) {
                chosen[i] = true;
                found = true;
            }
        }
        if (!found) {
            return unknown(spec, nodes, name);
        }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (chosen[i]) {
            selection.hosts[nodes[i].host] = true;
            selection.nodes.push_back(nodes[i]);
        }
    }
    return selection;
}

} // namespace dockdist
