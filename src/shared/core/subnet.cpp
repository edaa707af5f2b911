#include "shared/core/subnet.hpp"

#include "shared/core/ip_address.hpp"
#include "shared/core/number.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <bit>
#include <cstring>

namespace dockdist {
namespace {

int bits_of(const Subnet& subnet) {
    return subnet.ipv6 ? 128 : 32;
}

// A network of this address alone.
std::optional<Subnet> read_one_address(std::string_view text) {
    Subnet subnet;
    if (const auto ipv4 = read_ipv4(text)) {
        std::memcpy(subnet.bytes.data(), &*ipv4, sizeof *ipv4);
    } else if (const auto ipv6 = read_ipv6(text)) {
        subnet.ipv6 = true;
        std::memcpy(subnet.bytes.data(), &*ipv6, sizeof *ipv6);
    } else {
        return std::nullopt;
    }
    subnet.prefix = bits_of(subnet);
    return subnet;
}

Subnet widen(Subnet subnet, int prefix) {
    subnet.prefix = std::min(subnet.prefix, prefix);
    for (int i = 0; i < static_cast<int>(subnet.bytes.size()); ++i) {
        const auto kept = static_cast<unsigned>(std::clamp(subnet.prefix - i * 8, 0, 8));
        auto& byte = subnet.bytes.at(static_cast<std::size_t>(i));
        byte = static_cast<unsigned char>(byte & (0xFF00U >> kept));
    }
    return subnet;
}

// How many bits of both are the same from the first on.
int same_bits(const Subnet& one, const Subnet& other) {
    int count = 0;
    for (std::size_t i = 0; i < one.bytes.size(); ++i) {
        const auto differing = static_cast<unsigned char>(one.bytes.at(i) ^ other.bytes.at(i));
        count += std::countl_zero(differing);
        if (differing != 0) {
            break;
        }
    }
    return count;
}

} // namespace

std::optional<Subnet> read_subnet(std::string_view text) {
    const auto slash = text.find('/');
    if (slash == std::string_view::npos) {
        return std::nullopt;
    }
    const auto address = read_one_address(text.substr(0, slash));
    const auto prefix = whole_number<int>(text.substr(slash + 1));
    if (!address || !prefix || *prefix < 0 || *prefix > bits_of(*address)) {
        return std::nullopt;
    }
    return widen(*address, *prefix);
}

std::string address_of(const Subnet& subnet) {
    char text[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(subnet.ipv6 ? AF_INET6 : AF_INET, subnet.bytes.data(), text, sizeof text);
    return text;
}

std::string to_text(const Subnet& subnet) {
    return address_of(subnet) + "/" + std::to_string(subnet.prefix);
}

bool holds(const Subnet& subnet, std::string_view address) {
    const auto one = read_one_address(address);
    return one && one->ipv6 == subnet.ipv6 && widen(*one, subnet.prefix) == subnet;
}

bool any_holds(const std::vector<std::string>& subnets, std::string_view address) {
    return std::ranges::any_of(subnets, [&](const std::string& text) {
        const auto subnet = read_subnet(text);
        return subnet && holds(*subnet, address);
    });
}

std::optional<Subnet> narrowest_subnet(const std::vector<std::string>& addresses) {
    std::optional<Subnet> all;
    for (const auto& address : addresses) {
        const auto one = read_one_address(address);
        if (!one || (all && one->ipv6 != all->ipv6)) {
            return std::nullopt;
        }
        all = all ? widen(*all, same_bits(*one, *all)) : *one;
    }
    return all;
}

bool is_same_address(std::string_view one, std::string_view other) {
    const auto first = read_one_address(one);
    return first && first == read_one_address(other);
}

} // namespace dockdist
