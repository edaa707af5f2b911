#include "shared/core/loopback.hpp"

#include "shared/core/ascii.hpp"
#include "shared/core/ip_address.hpp"

#include <arpa/inet.h>

namespace dockdist {

bool is_loopback(std::string_view host) {
    constexpr unsigned loopback_net = 127;
    if (const auto v4 = read_ipv4(host)) {
        return ntohl(v4->s_addr) >> 24U == loopback_net;
    }
    if (const auto v6 = read_ipv6(host)) {
        return IN6_IS_ADDR_LOOPBACK(&*v6) != 0 ||
               (IN6_IS_ADDR_V4MAPPED(&*v6) != 0 && v6->s6_addr[12] == loopback_net);
    }
    auto name = to_lower(host);
    if (name.ends_with('.')) {
        name.pop_back();
    }
    return name == "localhost" || name.ends_with(".localhost");
}

} // namespace dockdist
