#include "shared/rdma/cabling.hpp"

#include "shared/core/subnet.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace dockdist::rdma {
namespace {

using Ends = std::map<std::string, std::set<std::size_t>>; // by network: its nodes

// Nothing where a port is in no known network.
Ends ends_of(const Fabric& fabric) {
    Ends ends;
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        for (const auto& port : fabric.nodes[i].ports) {
            if (port.used && port.network.empty()) {
                return {};
            }
            if (port.used) {
                ends[port.network].insert(i);
            }
        }
    }
    return ends;
}

int prefix_of(const Ends& ends) {
    std::set<int> prefixes;
    for (const auto& [network, nodes] : ends) {
        const auto subnet = read_subnet(network);
        prefixes.insert(subnet && !subnet->ipv6 ? subnet->prefix : 0);
    }
    return prefixes.size() == 1 ? *prefixes.begin() : 0;
}

} // namespace

Cabling cabling_of(const Fabric& fabric) {
    Cabling cabling;
    if (!fabric.apart || fabric.link != "Ethernet") {
        return cabling;
    }
    const auto ends = ends_of(fabric);
    if (ends.empty() || !std::ranges::all_of(ends, [](const auto& one) { return one.second.size() == 2; })) {
        return cabling;
    }
    std::set<std::size_t> nodes;
    std::set<std::pair<std::size_t, std::size_t>> joined;
    for (const auto& [network, both] : ends) {
        nodes.insert(both.begin(), both.end());
        joined.emplace(*both.begin(), *both.rbegin());
    }
    cabling.direct = nodes.size() > 2;
    cabling.prefix = prefix_of(ends);
    for (auto one = nodes.begin(); one != nodes.end(); ++one) {
        for (auto other = std::next(one); other != nodes.end() && cabling.apart.empty(); ++other) {
            if (!joined.contains({*one, *other})) {
                cabling.apart = fabric.nodes[*one].name + " and " + fabric.nodes[*other].name;
            }
        }
    }
    return cabling;
}

} // namespace dockdist::rdma
