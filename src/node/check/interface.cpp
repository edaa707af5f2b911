#include "node/check/interface.hpp"

#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/routes.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/wire/join.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cstring>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

// Of the node's own family, but for those that pass, and of the interface as programs that know its name
// alone find it; empty where it is the node's.
std::string first_address(const std::string& interface, const std::string& address) {
    const bool ipv6 = read_ipv6(address).has_value();
    const auto all = interface_addresses();
    const auto first = std::ranges::find_if(all, [&](const InterfaceAddress& one) {
        return one.interface == interface && !one.passing && read_ipv6(one.address).has_value() == ipv6;
    });
    return first == all.end() || first->address == address ? "" : first->address;
}

std::vector<wire::NetworkFacts::OtherWay> other_ways(const std::string& interface,
                                                     const std::string& address) {
    std::vector<wire::NetworkFacts::OtherWay> ways;
    const auto members = wire::parse_members(read_file_or_empty(paths().members));
    if (!members) {
        return ways;
    }
    Routes routes;
    for (const auto& peer : members->nodes) {
        const auto way = peer.address == address ? std::string() : routes.interface_to(address, peer.address);
        if (way.empty() || way == interface || way == "lo") { // another address of this very host
            continue;
        }
        const auto told = std::ranges::find(ways, way, &wire::NetworkFacts::OtherWay::interface);
        if (told != ways.end()) {
            ++told->nodes;
        } else if (ways.size() < wire::most_other_ways) {
            ways.push_back({.interface = way, .node = peer.node, .nodes = 1});
        }
    }
    return ways;
}

} // namespace

Result<wire::NetworkFacts> network_facts() {
    wire::NetworkFacts facts;
    std::string address;
    const auto record = wire::parse_object(read_file_or_empty(paths().node_record), "the node's record");
    TRY(record);
    wire::ObjectReader reader(*record, "the node's record");
    reader.read("interface", facts.interface);
    reader.read("address", address);

    const auto& interface = facts.interface;
    ifreq request{};
    interface.copy(static_cast<char*>(request.ifr_name), sizeof request.ifr_name - 1);
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::ioctl(socket.get(), SIOCGIFFLAGS, &request) != 0) {
        return facts;
    }
    const auto flags = static_cast<unsigned>(request.ifr_flags);
    facts.there = true;
    facts.up = (flags & IFF_UP) != 0 && (flags & IFF_RUNNING) != 0;
    facts.loopback = (flags & IFF_LOOPBACK) != 0;
    const auto device = without_label(interface);
    facts.bridge = is_folder(under_root("/sys/class/net/") + device + "/bridge") && !bridge_leads_out(device);
    facts.address_there = std::ranges::any_of(interface_addresses(), [&](const InterfaceAddress& one) {
        return one.interface == interface && one.address == address;
    });
    facts.tunnel = (flags & IFF_POINTOPOINT) != 0;
    facts.first_address = first_address(interface, address);
    // Through a dummy's, or the device of a VRF, which hold addresses alone, nothing leaves at all.
    const bool holds_alone = (flags & IFF_NOARP) != 0 && !facts.tunnel;
    facts.other_ways =
        holds_alone ? std::vector<wire::NetworkFacts::OtherWay>{} : other_ways(device, address);
    if (::ioctl(socket.get(), SIOCGIFMTU, &request) == 0) {
        facts.mtu = request.ifr_mtu;
    }
    return facts;
}

} // namespace dockdist::node
