// Addresses in the numbers of IPv4 and IPv6, as inet_pton(3) reads them.
#pragma once

#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

// The whole of `text` is one: a NUL, behind which inet_pton would not look, is none of it.
bool is_ip_address(std::string_view text);

std::optional<in_addr> read_ipv4(std::string_view text);
std::optional<in6_addr> read_ipv6(std::string_view text);

// "10.0.0.1:29000", "[fd00::1]:29000"; a name is as good.
std::string address_and_port(const std::string& address, int port);

} // namespace dockdist
