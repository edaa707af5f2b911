#include "node/system/network.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/port_holder.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/job_usage.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ifaddrs.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::string to_text(const sockaddr* address) {
    char text[INET6_ADDRSTRLEN] = "";
    if (address->sa_family == AF_INET) {
        sockaddr_in ipv4{};
        std::memcpy(&ipv4, address, sizeof ipv4);
        ::inet_ntop(AF_INET, &ipv4.sin_addr, text, sizeof text);
    } else if (address->sa_family == AF_INET6) {
        sockaddr_in6 ipv6{};
        std::memcpy(&ipv6, address, sizeof ipv6);
        ::inet_ntop(AF_INET6, &ipv6.sin6_addr, text, sizeof text);
    }
    return text;
}

// The source address that the kernel's routes choose: connecting a datagram socket only asks them.
std::string source_address(const std::string& far) {
    const auto peer = numeric_address(far, 9);
    const Fd socket(::socket(peer.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer.storage), peer.length) != 0) {
        return {};
    }
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
        return {};
    }
    return to_text(reinterpret_cast<const sockaddr*>(&own));
}

} // namespace

std::vector<InterfaceAddress> interface_addresses() {
    std::vector<InterfaceAddress> result;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return result;
    }
    const auto passing = passing_addresses(read_file_or_empty(under_root("/proc/net/if_inet6")));
    for (const auto* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        auto address = to_text(one->ifa_addr);
        if (address.empty() || address.starts_with("fe80:")) {
            continue; // link-local addresses need a scope, which no launcher can carry
        }
        const bool passes = passing.contains(address);
        result.push_back({.interface = one->ifa_name,
                          .address = std::move(address),
                          .loopback = (one->ifa_flags & IFF_LOOPBACK) != 0,
                          .passing = passes,
                          .leads_out = bridge_leads_out(one->ifa_name)});
    }
    ::freeifaddrs(all);
    return result;
}

std::string host_mark() {
    const auto boot = read_file_or_empty("/proc/sys/kernel/random/boot_id");
    const auto network = read_link("/proc/self/ns/net"); // "net:[4026531840]"
    if (boot.empty() || network.empty()) {
        return {};
    }
    return (boot.substr(0, boot.find('\n')) + " " + network).substr(0, wire::longest_host_mark);
}

std::string default_address() {
    // TEST-NET-1, and its like of IPv6.
    const auto ipv4 = source_address("192.0.2.1");
    return ipv4.empty() ? source_address("2001:db8::1") : ipv4;
}

std::set<std::string> passing_addresses(const std::string& table) {
    std::set<std::string> passing;
    for (const auto& line : split(table, '\n')) {
        // The address in 32 hex digits, then index, prefix, scope, flags in hex, of as many digits as they
        // need but two at least, and the name.
        const auto words = split(line, ' ');
        if (words.size() < 6 || words[0].size() != 32) {
            continue;
        }
        std::string address;
        for (std::size_t i = 0; i < 32; i += 4) {
            address += (i == 0 ? "" : ":") + words[0].substr(i, 4);
        }
        const auto flags = std::strtoul(words[4].c_str(), nullptr, 16);
        const NumericAddress read = numeric_address(address, 0);
        if (read.length != 0 &&
            (flags & (IFA_F_TEMPORARY | IFA_F_DADFAILED | IFA_F_DEPRECATED | IFA_F_TENTATIVE)) != 0) {
            passing.insert(to_text(reinterpret_cast<const sockaddr*>(&read.storage)));
        }
    }
    return passing;
}

bool bridge_leads_out(const std::string& bridge) {
    const auto interfaces = under_root("/sys/class/net/");
    const auto ports = list_folder(interfaces + bridge + "/brif");
    return std::ranges::any_of(ports, [&](const std::string& port) {
        const auto of_port = list_folder(interfaces + port + "/."); // what the link there leads to
        return std::ranges::any_of(of_port, [](const std::string& entry) {
            return entry == "device" || entry.starts_with("lower_");
        });
    });
}

NumericAddress numeric_address(const std::string& address, int port) {
    NumericAddress made;
    const auto number = htons(static_cast<std::uint16_t>(port));
    sockaddr_in ipv4{};
    sockaddr_in6 ipv6{};
    if (::inet_pton(AF_INET, address.c_str(), &ipv4.sin_addr) == 1) {
        ipv4.sin_family = AF_INET;
        ipv4.sin_port = number;
        std::memcpy(&made.storage, &ipv4, sizeof ipv4);
        made.length = sizeof ipv4;
    } else if (::inet_pton(AF_INET6, address.c_str(), &ipv6.sin6_addr) == 1) {
        ipv6.sin6_family = AF_INET6;
        ipv6.sin6_port = number;
        std::memcpy(&made.storage, &ipv6, sizeof ipv6);
        made.length = sizeof ipv6;
    }
    return made;
}

std::vector<std::string> addresses_in_hosts(std::string_view hosts, std::string_view name) {
    std::vector<std::string> addresses;
    for (const auto& line : split(hosts, '\n')) {
        std::string text = line.substr(0, line.find('#'));
        std::ranges::replace(text, '\t', ' ');
        const auto words = split(text, ' ');
        if (std::find(words.begin() + 1, words.end(), name) != words.end() && !words.front().empty() &&
            std::ranges::find(addresses, words.front()) == addresses.end()) {
            addresses.push_back(words.front());
        }
    }
    return addresses;
}

std::string resolve_in_hosts(std::string_view hosts, std::string_view name) {
    const auto addresses = addresses_in_hosts(hosts, name);
    return addresses.empty() ? std::string() : addresses.front();
}

Error port_in_use(const std::string& address, int port) {
    const auto holder = find_port_holder(port);
    return {.kind = ErrorKind::conflict,
            .message = "port " + std::to_string(port) + " of " + address + " is in use" +
                       (!holder            ? std::string(", by another node or a program of this host")
                        : holder->pid != 0 ? " by process " + std::to_string(holder->pid) + " (" +
                                                 printable(holder->program) + ")"
                                           : std::string(", by a process outside this container")),
            .hint = "set ssh.port to another one or to auto; on the host, `ss -ltnp sport = :" +
                    std::to_string(port) + "` tells who listens there"};
}

Result<int> choose_port(int wanted, const std::function<Status(int port)>& take) {
    if (wanted != 0) {
        TRY(take(wanted));
        return wanted;
    }
    Error last;
    for (int port = first_ssh_port; port <= last_ssh_port; ++port) {
        const auto taken = take(port);
        if (taken) {
            return port;
        }
        last = taken.error();
        if (last.kind != ErrorKind::conflict) {
            return last;
        }
    }
    return last;
}

} // namespace dockdist::node
