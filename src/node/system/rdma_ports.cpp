#include "node/system/rdma_ports.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/fd.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cmath>
#include <cstdlib>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <optional>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

// More than any host has: what a folder that is mounted there may hold is read no further.
constexpr std::size_t most_devices = 512;
constexpr std::size_t most_ports_looked_at = 1024;
constexpr int last_gid = 255;
constexpr std::size_t longest_value = 128; // of a file that is read
constexpr const char* amazon = "0x1d0f";   // of PCI; its RDMA devices are EFA

// The first line of a small file; empty where there is none. Never waits, whatever the file is.
std::string value_of(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    char bytes[longest_value];
    const auto count = file.open() ? ::read(file.get(), static_cast<char*>(bytes), sizeof bytes) : 0;
    std::string text(static_cast<const char*>(bytes), count > 0 ? static_cast<std::size_t>(count) : 0);
    text.resize(std::min(text.size(), text.find('\n')));
    return is_printable(text) ? text : std::string();
}

// A word that goes on the wire: without what is behind the length that is read there.
std::string word(std::string text) {
    constexpr std::size_t longest = 63;
    const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7F'; });
    return plain && text.size() <= longest ? std::move(text) : std::string();
}

std::string interface_name(std::string text) {
    text = word(std::move(text));
    return text.size() < IFNAMSIZ && text.find_first_of("/, =^") == std::string::npos ? std::move(text)
                                                                                      : std::string();
}

// "0000:3b:00.0" of "../../../0000:3b:00.0".
std::string last_of_link(const std::string& path) {
    const auto target = read_link(path);
    return word(target.substr(target.rfind('/') + 1));
}

bool is_pci_address(const std::string& text) {
    return text.size() >= 7 && text.find(':') != std::string::npos &&
           text.find_first_not_of("0123456789abcdef:.") == std::string::npos;
}

// "ACTIVE" of "4: ACTIVE".
std::string behind_colon(const std::string& line) {
    const auto colon = line.find(": ");
    return colon == std::string::npos ? line : line.substr(colon + 2);
}

// 200000 of "200 Gb/sec (4X HDR)".
std::int64_t mbps_of(const std::string& rate) {
    constexpr double most = 100'000;
    const double gbps = std::strtod(rate.c_str(), nullptr);
    return gbps > 0 && gbps <= most && rate.find(" Gb/sec") != std::string::npos ? std::llround(gbps * 1000)
                                                                                 : 0;
}

// The address that a GID stands for ("0000:…:ffff:0a01:0005" is one of IPv4); empty where it leads to no
// network: none, or a link-local one of IPv6.
std::string address_in_gid(const std::string& text) {
    in6_addr gid{};
    if (::inet_pton(AF_INET6, text.c_str(), &gid) != 1 || IN6_IS_ADDR_UNSPECIFIED(&gid) ||
        IN6_IS_ADDR_LINKLOCAL(&gid)) {
        return {};
    }
    char out[INET6_ADDRSTRLEN] = "";
    const bool ipv4 = IN6_IS_ADDR_V4MAPPED(&gid);
    const void* address = ipv4 ? static_cast<const void*>(&gid.s6_addr[12]) : &gid;
    ::inet_ntop(ipv4 ? AF_INET : AF_INET6, address, static_cast<char*>(out), sizeof out);
    return static_cast<const char*>(out);
}

std::vector<wire::RdmaGid> gids_of(const std::string& port, const std::map<std::string, int>& prefixes) {
    std::vector<wire::RdmaGid> gids;
    for (int i = 0; i <= last_gid && gids.size() < wire::most_rdma_gids; ++i) {
        const auto index = std::to_string(i);
        const auto text = value_of(port + "/gids/" + index);
        if (text.empty() && ::access((port + "/gids/" + index).c_str(), F_OK) != 0) {
            break; // the table ends
        }
        const auto address = address_in_gid(text);
        if (address.empty() || value_of(port + "/gid_attrs/types/" + index) != "RoCE v2") {
            continue;
        }
        const auto prefix = prefixes.find(address);
        gids.push_back({.index = i,
                        .address = address,
                        .prefix = prefix == prefixes.end() ? 0 : prefix->second,
                        .netdev = interface_name(value_of(port + "/gid_attrs/ndevs/" + index))});
    }
    return gids;
}

struct Device {
    std::string name{};
    std::string folder{};
    bool iwarp = false, efa = false, outside = false;
    std::string pci{}, part_of{};
    std::vector<std::string> netdevs{};
};

Device look_at(const RdmaPlaces& places, const std::string& name) {
    Device device{.name = name, .folder = places.infiniband + "/" + name};
    const auto behind = device.folder + "/device";
    device.iwarp = value_of(device.folder + "/node_type").starts_with("4:"); // RDMA_NODE_RNIC
    device.efa = last_of_link(behind + "/driver") == "efa" || value_of(behind + "/vendor") == amazon;
    for (const auto& [link, out] :
         {std::pair(behind, &device.pci), std::pair(behind + "/physfn", &device.part_of)}) {
        if (auto address = last_of_link(link); is_pci_address(address)) {
            *out = std::move(address);
        }
    }
    for (const auto& netdev : list_folder(behind + "/net")) {
        if (!interface_name(netdev).empty()) {
            device.netdevs.push_back(netdev);
        }
    }
    std::ranges::sort(device.netdevs);
    // "uverbs0": the file that a program opens
    const auto files = list_folder(behind + "/infiniband_verbs");
    device.outside = !files.empty() && std::ranges::none_of(files, [&](const std::string& file) {
        return ::access((places.devices + "/" + file).c_str(), F_OK) == 0;
    });
    return device;
}

// Of a device with several ports each interface says which it is.
std::string netdev_of(const Device& device, const RdmaPlaces& places, int port, const std::string& folder) {
    if (auto own = interface_name(value_of(folder + "/gid_attrs/ndevs/0")); !own.empty()) {
        return own;
    }
    for (const auto& netdev : device.netdevs) {
        const auto number = whole_number<int>(value_of(places.net + "/" + netdev + "/dev_port"));
        if (device.netdevs.size() == 1 || number == port - 1) {
            return netdev;
        }
    }
    return {};
}

wire::RdmaPort look_at_port(const Device& device, const RdmaPlaces& places, int number,
                            const std::map<std::string, int>& prefixes) {
    const auto folder = device.folder + "/ports/" + std::to_string(number);
    wire::RdmaPort port{.device = device.name,
                        .port = number,
                        .link = word(value_of(folder + "/link_layer")),
                        .state = word(behind_colon(value_of(folder + "/state"))),
                        .mbps = mbps_of(value_of(folder + "/rate")),
                        .netdev = netdev_of(device, places, number, folder),
                        .pci = device.pci,
                        .part_of = device.part_of,
                        .outside = device.outside};
    if (device.efa || device.iwarp) {
        port.link = device.efa ? "EFA" : "iWARP";
        return port;
    }
    const auto master = port.netdev.empty() ? "" : places.net + "/" + port.netdev + "/master";
    if (is_folder(master + "/bonding")) {
        port.bond = interface_name(last_of_link(master));
    }
    if (port.state != "ACTIVE") {
        return port;
    }
    if (port.link == "InfiniBand") {
        constexpr std::size_t prefix_length = 19; // four of the GID's eight groups
        const auto gid = value_of(folder + "/gids/0");
        port.prefix = gid.size() == 39 ? gid.substr(0, prefix_length) : std::string();
    } else if (port.link == "Ethernet") {
        port.gids = gids_of(folder, prefixes);
    }
    return port;
}

// "mlx5_2" before "mlx5_10".
std::tuple<std::string, int, std::string> by_number(const std::string& name) {
    const auto end = name.find_last_not_of("0123456789") + 1;
    return {name.substr(0, end), whole_number<int>(name.substr(end)).value_or(0), name};
}

} // namespace

std::vector<wire::RdmaPort> read_rdma_ports(const RdmaPlaces& places,
                                            const std::map<std::string, int>& prefixes) {
    auto names = list_folder(places.infiniband);
    std::erase_if(names, [](const auto& name) { return !wire::is_rdma_device(name); });
    std::ranges::sort(names, {}, by_number);
    names.resize(std::min(names.size(), most_devices));
    std::vector<wire::RdmaPort> ports;
    for (const auto& name : names) {
        const auto device = look_at(places, name);
        std::vector<int> numbers;
        for (const auto& text : list_folder(device.folder + "/ports")) {
            if (const auto number = whole_number<int>(text); number && *number >= 0 && *number <= 255) {
                numbers.push_back(*number);
            }
        }
        std::ranges::sort(numbers);
        for (const auto number : numbers) {
            if (ports.size() < most_ports_looked_at) {
                ports.push_back(look_at_port(device, places, number, prefixes));
            }
        }
    }
    std::vector<wire::RdmaPort> told;
    for (const bool active : {true, false}) {
        for (const auto& port : ports) {
            if ((port.state == "ACTIVE") == active && told.size() < wire::most_rdma_ports) {
                told.push_back(port);
            }
        }
    }
    for (auto& port : told) {
        const bool has_parts = std::ranges::find(told, port.pci, &wire::RdmaPort::part_of) != told.end();
        port.pci = has_parts ? port.pci : std::string();
    }
    return told;
}

std::vector<wire::RdmaPort> rdma_ports_of_host() {
    if (::access(paths().infiniband.c_str(), F_OK) != 0) {
        return {};
    }
    return read_rdma_ports({.infiniband = paths().infiniband,
                            .net = under_root("/sys/class/net"),
                            .devices = under_root("/dev/infiniband")},
                           address_prefixes());
}

std::map<std::string, int> address_prefixes() {
    std::map<std::string, int> prefixes;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return prefixes;
    }
    for (const auto* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr) {
            continue;
        }
        const int family = one->ifa_addr->sa_family;
        const void* address = nullptr;
        const unsigned char* mask = nullptr;
        std::size_t bytes = 0;
        if (family == AF_INET) {
            address = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
            mask = reinterpret_cast<const unsigned char*>(
                &reinterpret_cast<const sockaddr_in*>(one->ifa_netmask)->sin_addr);
            bytes = sizeof(in_addr);
        } else if (family == AF_INET6) {
            address = &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
            mask = reinterpret_cast<const sockaddr_in6*>(one->ifa_netmask)->sin6_addr.s6_addr;
            bytes = sizeof(in6_addr);
        } else {
            continue;
        }
        char text[INET6_ADDRSTRLEN] = "";
        ::inet_ntop(family, address, static_cast<char*>(text), sizeof text);
        int bits = 0;
        for (std::size_t i = 0; i < bytes; ++i) {
            bits += __builtin_popcount(mask[i]);
        }
        prefixes[static_cast<const char*>(text)] = bits;
    }
    ::freeifaddrs(all);
    return prefixes;
}

bool has_rdma_devices() {
    return is_folder(under_root("/dev/infiniband"));
}

} // namespace dockdist::node
