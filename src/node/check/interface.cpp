#include "node/check/interface.hpp"

#include "node/system/network.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <cstring>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace dockdist::node {

Result<wire::NetworkFacts> network_facts() {
    wire::NetworkFacts facts;
    std::string address;
    const auto record = wire::parse_object(read_file_or_empty(paths().node_record), "the node's record");
    if (!record) {
        return record.error();
    }
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
    facts.bridge = is_folder(under_root("/sys/class/net/") + interface + "/bridge");
    facts.address_there = std::ranges::any_of(interface_addresses(), [&](const InterfaceAddress& one) {
        return one.interface == interface && one.address == address;
    });
    if (::ioctl(socket.get(), SIOCGIFMTU, &request) == 0) {
        facts.mtu = request.ifr_mtu;
    }
    return facts;
}

} // namespace dockdist::node
