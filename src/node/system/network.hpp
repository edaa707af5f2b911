// The node's address, interface and ssh port, in the host's network namespace.
#pragma once

#include "node/system/endpoint.hpp"
#include "shared/core/result.hpp"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace dockdist::node {

std::vector<InterfaceAddress> interface_addresses(); // of interfaces that are up
// Of this boot and this network: two engines on one machine may have networks of their own. Empty where it is
// not known, wire::longest_host_mark bytes at most.
std::string host_mark();
// The source address of the default route, IPv4's before IPv6's; empty when there is none. Sends nothing.
std::string default_address();

// Those of /proc/net/if_inet6 (net/ipv6/addrconf.c) that pass, in the writing of inet_ntop. Pure.
std::set<std::string> passing_addresses(const std::string& table);
// Whether a port of this bridge leads to other machines: an interface of a device's, or a bond or VLAN of
// one.
bool bridge_leads_out(const std::string& bridge);

// For connect(2) and bind(2).
struct NumericAddress {
    sockaddr_storage storage{};
    socklen_t length = 0; // 0: it is no numeric address
};
NumericAddress numeric_address(const std::string& address, int port);

// A name as /etc/hosts resolves it; empty when it does not.
std::string resolve_in_hosts(std::string_view hosts, std::string_view name);
// All of its addresses, each once.
std::vector<std::string> addresses_in_hosts(std::string_view hosts, std::string_view name);

// conflict, with who listens there.
Error port_in_use(const std::string& address, int port);

inline constexpr int first_ssh_port = 2222;
inline constexpr int last_ssh_port = 4222;
// Pure: `wanted` alone, or the first that `take` gets when it is 0. `take` claims the port or tells why it
// can't.
Result<int> choose_port(int wanted, const std::function<Status(int port)>& take);

} // namespace dockdist::node
