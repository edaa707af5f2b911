#include "client/check/selection.hpp"

#include "client/spec/node_words.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace dockdist {
CheckSelection all_for_check(const ClusterSpec& spec) {
    return {.hosts = std::vector<bool>(spec.hosts.size(), true), .nodes = expand_nodes(spec)};
}

Result<CheckSelection> select_for_check(const ClusterSpec& spec, const std::vector<std::string>& names) {
    if (names.empty()) {
        return all_for_check(spec);
    }
    CheckSelection selection{.hosts = std::vector<bool>(spec.hosts.size())};
    const auto nodes = expand_nodes(spec);
    std::set<NodeName> chosen;
    for (const auto& name : names) {
        const auto named = find_named(spec, {.option = "--node", .text = name});
        TRY(named);
        std::ranges::transform(*named, std::inserter(chosen, chosen.end()), &NamedNode::name);
    }
    for (const auto& node : nodes) {
        if (chosen.contains(node.name)) {
            selection.hosts[node.host] = true;
            selection.nodes.push_back(node);
        }
    }
    return selection;
}

} // namespace dockdist
