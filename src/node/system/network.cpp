#include "node/system/network.hpp"

#include "core/text.hpp"
#include "node/system/os.hpp"
#include "node/system/port_holder.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
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

// Interfaces that engines and their kin make for themselves: no peer on another host is behind them.
bool is_engine_interface(std::string_view name) {
    for (const std::string_view prefix :
         {"docker", "veth", "br-", "virbr", "cni", "flannel", "cali", "podman", "lxc"}) {
        if (name.starts_with(prefix)) {
            return true;
        }
    }
    return false;
}

std::string list_interfaces(const std::vector<InterfaceAddress>& available) {
    std::string list;
    for (const auto& one : available) {
        list += (list.empty() ? "" : ", ") + one.interface + " " + one.address;
    }
    return list.empty() ? "none" : list;
}

} // namespace

std::vector<InterfaceAddress> interface_addresses() {
    std::vector<InterfaceAddress> result;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return result;
    }
    for (const auto* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) {
            continue;
        }
        auto address = to_text(one->ifa_addr);
        if (address.empty() || address.starts_with("fe80:")) {
            continue; // link-local addresses need a scope, which no launcher can carry
        }
        result.push_back({.interface = one->ifa_name,
                          .address = std::move(address),
                          .loopback = (one->ifa_flags & IFF_LOOPBACK) != 0});
    }
    ::freeifaddrs(all);
    return result;
}

std::string default_address() {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in far{};
    far.sin_family = AF_INET;
    far.sin_port = htons(9);
    ::inet_pton(AF_INET, "192.0.2.1",
                &far.sin_addr); // TEST-NET-1: connecting a datagram socket only asks the routes
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&far), sizeof far) != 0) {
        return {};
    }
    sockaddr_storage own{};
    socklen_t length = sizeof own;
    if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
        return {};
    }
    return to_text(reinterpret_cast<const sockaddr*>(&own));
}

Result<Endpoint> choose_endpoint(const std::string& address, const std::string& interface,
                                 const std::string& default_route_address,
                                 const std::vector<InterfaceAddress>& available) {
    if (!address.empty()) {
        bool held = false;
        for (const auto& one : available) {
            if (one.address == address) {
                held = true;
                if (interface.empty() || interface == one.interface) {
                    return Endpoint{one.address, one.interface};
                }
            }
        }
        return Error{.kind = ErrorKind::config,
                     .message =
                         held ? "the address " + address + " is not on the interface " + printable(interface)
                              : "no interface of this host has the address " + printable(address),
                     .hint = "set the host's `address` to one of: " + list_interfaces(available)};
    }
    if (!interface.empty()) {
        for (const auto& one : available) {
            if (one.interface == interface) {
                return Endpoint{one.address, one.interface};
            }
        }
        return Error{.kind = ErrorKind::config,
                     .message = "this host has no interface " + printable(interface) + " with an address",
                     .hint = "set the host's `interface` to one of: " + list_interfaces(available)};
    }
    const auto usable = [](const InterfaceAddress& one) {
        return !one.loopback && !is_engine_interface(one.interface);
    };
    for (const auto& one : available) {
        if (one.address == default_route_address && usable(one)) {
            return Endpoint{one.address, one.interface};
        }
    }
    const auto first = std::ranges::find_if(available, usable);
    if (first != available.end()) {
        return Endpoint{first->address, first->interface};
    }
    return Error{.kind = ErrorKind::config,
                 .message = "this host has no address that peers could reach",
                 .hint = "name one with the host's `address`; its interfaces: " + list_interfaces(available)};
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

Status check_port_free(const std::string& address, int port) {
    sockaddr_storage storage{};
    socklen_t length = 0;
    auto* ipv4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* ipv6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (::inet_pton(AF_INET, address.c_str(), &ipv4->sin_addr) == 1) {
        ipv4->sin_family = AF_INET;
        ipv4->sin_port = htons(static_cast<std::uint16_t>(port));
        length = sizeof *ipv4;
    } else if (::inet_pton(AF_INET6, address.c_str(), &ipv6->sin6_addr) == 1) {
        ipv6->sin6_family = AF_INET6;
        ipv6->sin6_port = htons(static_cast<std::uint16_t>(port));
        length = sizeof *ipv6;
    } else {
        return Error{.kind = ErrorKind::config, .message = printable(address) + " is not a numeric address"};
    }
    const Fd socket(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); // as sshd does
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 ||
        ::listen(socket.get(), 1) != 0) {
        const int number = errno;
        if (number != EADDRINUSE) {
            return system_error("cannot listen on port " + std::to_string(port) + " of " + address, number);
        }
        const auto holder = find_port_holder(port);
        return Error{.kind = ErrorKind::conflict,
                     .message = "port " + std::to_string(port) + " of " + address + " is in use" +
                                (holder && holder->pid != 0
                                     ? " by process " + std::to_string(holder->pid) + " (" +
                                           printable(holder->program) + ")"
                                     : std::string(", by a process outside of this container")),
                     .hint = "set ssh.port to another one or to auto; on the host, `ss -ltnp sport = :" +
                             std::to_string(port) + "` tells who holds it"};
    }
    return ok;
}

Result<int> choose_port(int wanted, const std::function<Status(int port)>& take) {
    if (wanted != 0) {
        if (const auto taken = take(wanted); !taken) {
            return taken.error();
        }
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
