// Which of its host's addresses is the node's. Pure.
#pragma once

#include "shared/core/result.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

struct InterfaceAddress {
    std::string interface{}; // of an address with a label ("eth0:1") that
    std::string address{};   // numeric
    bool loopback = false;
    bool passing = false; // of IPv6: a temporary one (RFC 8981), or one that is not, or no longer, to be used
    bool leads_out = false; // a bridge that an interface of the machine's own is a port of
};

struct Endpoint {
    std::string address{};
    std::string interface{};
};

// Where a node is to be found.
struct WantedEndpoint {
    std::string address{};              // numeric; empty: nobody said which
    bool derived = false;               // … it is only what the engine is reached at: the interface decides
    std::string interface{};            // a name; empty: the one that holds the address
    std::vector<std::string> subnets{}; // without an address: the one that is in one of them
    std::string default_address{};      // without all that
};

// The interface without an address's label: "eth0" of "eth0:1".
std::string without_label(const std::string& interface);

// The address, where it is on the interface. Of an interface, and of a subnet where one interface alone is in
// it, the first address that does not pass. Without either the default route's, IPv6 only where there is no
// IPv4. Loopback and the engines' own interfaces are chosen only when they are asked for by their name or
// address.
Result<Endpoint> choose_endpoint(const WantedEndpoint& wanted,
                                 const std::vector<InterfaceAddress>& available);

} // namespace dockdist::node
