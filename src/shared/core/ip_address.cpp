#include "shared/core/ip_address.hpp"

#include <arpa/inet.h>

namespace dockdist {
namespace {

template <class Address>
std::optional<Address> read_address(int family, std::string_view text) {
    Address address{};
    const bool whole = text.find('\0') == std::string_view::npos;
    return whole && ::inet_pton(family, std::string(text).c_str(), &address) == 1 ? std::optional(address)
                                                                                  : std::nullopt;
}

} // namespace

std::optional<in_addr> read_ipv4(std::string_view text) {
    return read_address<in_addr>(AF_INET, text);
}

std::optional<in6_addr> read_ipv6(std::string_view text) {
    return read_address<in6_addr>(AF_INET6, text);
}

bool is_ip_address(std::string_view text) {
    return read_ipv4(text) || read_ipv6(text);
}

std::string address_and_port(const std::string& address, int port) {
    const bool has_colons = address.find(':') != std::string::npos;
    return (has_colons ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

} // namespace dockdist
