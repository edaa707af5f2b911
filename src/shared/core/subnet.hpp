// Networks in CIDR form: "10.1.0.0/16", "fd00:1::/64".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct Subnet {
    bool ipv6 = false;
    std::array<unsigned char, 16> bytes{}; // of the network, IPv4's in the first four; 0 behind the prefix
    int prefix = 0;                        // bits
    bool operator==(const Subnet&) const = default;
};

// "ADDRESS/BITS", of whatever address within it.
std::optional<Subnet> read_subnet(std::string_view text);
std::string to_text(const Subnet& subnet);
std::string address_of(const Subnet& subnet);   // the first in it
inline constexpr std::size_t most_subnets = 64; // that a cluster may name

bool holds(const Subnet& subnet, std::string_view address);
// Whether one of these texts is a network that holds it.
bool any_holds(const std::vector<std::string>& subnets, std::string_view address);

// The narrowest network that holds all: nothing where one is no address, or they are of both families.
std::optional<Subnet> narrowest_subnet(const std::vector<std::string>& addresses);

// Of one address in two writings ("fd00::1", "fd00:0::1").
bool is_same_address(std::string_view one, std::string_view other);

} // namespace dockdist
