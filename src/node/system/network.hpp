// The node's address, interface and ssh port, in the host's network namespace.
#pragma once

#include "core/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace dockdist::node {

struct InterfaceAddress {
    std::string interface{};
    std::string address{}; // numeric
    bool loopback = false;
    bool passing = false; // of IPv6: a temporary one (RFC 8981), or one that is not, or no longer, to be used
};

struct Endpoint {
    std::string address{};
    std::string interface{};
};

std::vector<InterfaceAddress> interface_addresses(); // of interfaces that are up
// Of this boot and this network: two engines on one machine may have networks of their own. Empty where it is
// not known, wire::longest_host_mark bytes at most.
std::string host_mark();
// The source address of the default route, IPv4's before IPv6's; empty when there is none. Sends nothing.
std::string default_address();

// Where a node is to be found.
struct WantedEndpoint {
    std::string address{};              // numeric; empty: nobody said which
    std::string interface{};            // a name; empty: the one that holds the address
    std::vector<std::string> subnets{}; // without an address: the one that is in one of them
    std::string default_address{};      // without all that
};

// Pure. An interface that is asked for wins over the subnets where it has no address in them. Loopback and
// the engines' own interfaces are chosen only when they are asked for by their name or address.
Result<Endpoint> choose_endpoint(const WantedEndpoint& wanted,
                                 const std::vector<InterfaceAddress>& available);

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

// Whether sshd could listen there now.
Status check_port_free(const std::string& address, int port);

inline constexpr int first_ssh_port = 2222;
inline constexpr int last_ssh_port = 4222;
// Pure: `wanted` alone, or the first that `take` gets when it is 0. `take` claims the port or tells why it
// can't.
Result<int> choose_port(int wanted, const std::function<Status(int port)>& take);

} // namespace dockdist::node
