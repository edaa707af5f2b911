#include "node/system/routes.hpp"

#include "shared/core/ip_address.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <span>
#include <sys/socket.h>

namespace dockdist::node {
namespace {

struct RouteQuestion {
    nlmsghdr header{};
    rtmsg route{};
    std::array<char, 64> attributes{}; // of two addresses
};

template <class Address>
void add_attribute(RouteQuestion& question, unsigned short type, const Address& address) {
    rtattr head{};
    head.rta_type = type;
    head.rta_len = RTA_LENGTH(sizeof address);
    auto* end = reinterpret_cast<char*>(&question) + NLMSG_ALIGN(question.header.nlmsg_len);
    std::memcpy(end, &head, sizeof head);
    std::memcpy(end + RTA_LENGTH(0), &address, sizeof address);
    question.header.nlmsg_len = NLMSG_ALIGN(question.header.nlmsg_len) + RTA_ALIGN(head.rta_len);
}

template <class Address>
void ask_for(RouteQuestion& question, unsigned char family, const Address& from, const Address& to) {
    question.header.nlmsg_len = NLMSG_LENGTH(sizeof question.route);
    question.header.nlmsg_type = RTM_GETROUTE;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.route.rtm_family = family;
    question.route.rtm_dst_len = sizeof(Address) * 8;
    question.route.rtm_src_len = sizeof(Address) * 8;
    add_attribute(question, RTA_DST, to);
    add_attribute(question, RTA_SRC, from);
}

std::string read_interface_name(std::span<const char> answer) {
    nlmsghdr header{};
    if (answer.size() < NLMSG_LENGTH(sizeof(rtmsg))) {
        return {};
    }
    std::memcpy(&header, answer.data(), sizeof header);
    if (header.nlmsg_type != RTM_NEWROUTE || header.nlmsg_len > answer.size()) {
        return {};
    }
    auto left = answer.first(header.nlmsg_len).subspan(NLMSG_LENGTH(sizeof(rtmsg)));
    while (left.size() >= sizeof(rtattr)) {
        rtattr head{};
        std::memcpy(&head, left.data(), sizeof head);
        if (head.rta_len < sizeof head || head.rta_len > left.size()) {
            break;
        }
        if (head.rta_type == RTA_OIF && head.rta_len >= RTA_LENGTH(sizeof(unsigned))) {
            unsigned index = 0;
            std::memcpy(&index, left.data() + RTA_LENGTH(0), sizeof index);
            char name[IF_NAMESIZE] = "";
            return ::if_indextoname(index, name) == nullptr ? std::string() : std::string(name);
        }
        left = left.subspan(std::min<std::size_t>(RTA_ALIGN(head.rta_len), left.size()));
    }
    return {};
}

} // namespace

Routes::Routes() : kernel_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}

std::string Routes::interface_to(const std::string& from, const std::string& to) {
    RouteQuestion question;
    if (const auto to_ipv4 = read_ipv4(to), from_ipv4 = read_ipv4(from); to_ipv4 && from_ipv4) {
        ask_for(question, AF_INET, *from_ipv4, *to_ipv4);
    } else if (const auto to_ipv6 = read_ipv6(to), from_ipv6 = read_ipv6(from); to_ipv6 && from_ipv6) {
        ask_for(question, AF_INET6, *from_ipv6, *to_ipv6);
    } else {
        return {};
    }
    std::array<char, 4096> answer{};
    if (::send(kernel_.get(), &question, question.header.nlmsg_len, 0) < 0) {
        return {};
    }
    const auto count = ::recv(kernel_.get(), answer.data(), answer.size(), 0); // the kernel answers at once
    return count <= 0 ? std::string()
                      : read_interface_name(std::span(answer).first(static_cast<std::size_t>(count)));
}

} // namespace dockdist::node
