#include "core/loopback.hpp"

#include "core/ascii.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string>

namespace dockdist {

bool is_loopback(std::string_view host) {
    constexpr unsigned loopback_net = 127;
    const std::string text(host);
    in_addr v4{};
    if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) {
        return ntohl(v4.s_addr) >> 24U == loopback_net;
    }
    in6_addr v6{};
    if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
        return IN6_IS_ADDR_LOOPBACK(&v6) != 0 ||
               (IN6_IS_ADDR_V4MAPPED(&v6) != 0 && v6.s6_addr[12] == loopback_net);
    }
    auto name = to_lower(host);
    if (name.ends_with('.')) {
        name.pop_back();
    }
    return name == "localhost" || name.ends_with(".localhost");
}

} // namespace dockdist
