#include "scale/stub_engines/link_messages.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <vector>

namespace dockdist::scale {
namespace {

[[noreturn]] void fail(const std::string& what, int why) {
    throw std::system_error(why, std::generic_category(), what);
}

int index_of(const std::string& link) {
    const auto index = ::if_nametoindex(link.c_str());
    if (index == 0) {
        fail("find link " + link, errno);
    }
    return static_cast<int>(index);
}

template <class T>
std::string_view bytes_of(const T& value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

} // namespace

// A request with its attributes, each padded to four bytes.
class LinkMessages::Message {
public:
    template <class Header>
    Message(std::uint16_t type, std::uint16_t flags, const Header& header) {
        nlmsghdr head{};
        head.nlmsg_type = type;
        head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
        append(bytes_of(head));
        append(bytes_of(header));
    }

    void add(std::uint16_t type, std::string_view value) {
        const auto begin = nest(type);
        append(value);
        end(begin);
    }
    void add(std::uint16_t type, std::uint32_t value) { add(type, bytes_of(value)); }
    void add(std::uint16_t type, const HardwareAddress& value) { add(type, bytes_of(value)); }
    void add_address(std::uint16_t type, std::uint32_t address) { add(type, htonl(address)); }

    std::size_t nest(std::uint16_t type) {
        const auto begin = bytes_.size();
        rtattr head{};
        head.rta_type = type;
        append(bytes_of(head));
        return begin;
    }
    void end(std::size_t begin) {
        const auto length = static_cast<std::uint16_t>(bytes_.size() - begin);
        std::memcpy(bytes_.data() + begin + offsetof(rtattr, rta_len), &length, sizeof length);
        bytes_.resize((bytes_.size() + 3) / 4 * 4);
    }
    template <class T>
    void put(const T& value) {
        append(bytes_of(value));
    }

    const std::vector<char>& finish(std::uint32_t number) {
        nlmsghdr head{};
        std::memcpy(&head, bytes_.data(), sizeof head);
        head.nlmsg_len = static_cast<std::uint32_t>(bytes_.size());
        head.nlmsg_seq = number;
        std::memcpy(bytes_.data(), &head, sizeof head);
        return bytes_;
    }

private:
    void append(std::string_view value) { bytes_.insert(bytes_.end(), value.begin(), value.end()); }
    std::vector<char> bytes_{};
};

LinkMessages::LinkMessages() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {
    if (!socket_.open()) {
        fail("open a netlink socket", errno);
    }
}

void LinkMessages::send(Message& message, const char* what) {
    const auto& bytes = message.finish(++number_);
    std::array<char, 8192> answer{};
    if (::send(socket_.get(), bytes.data(), bytes.size(), 0) < 0 ||
        ::recv(socket_.get(), answer.data(), answer.size(), 0) <
            static_cast<ssize_t>(NLMSG_LENGTH(sizeof(int)))) {
        fail(what, errno);
    }
    int error = 0;
    std::memcpy(&error, answer.data() + NLMSG_HDRLEN, sizeof error);
    if (error != 0) {
        fail(what, -error);
    }
}

void LinkMessages::add_pair(const std::string& here, HardwareAddress hardware_here, const std::string& there,
                            HardwareAddress hardware_there, int namespace_there) {
    Message message(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, ifinfomsg{});
    const auto describe = [&message](const std::string& name, const HardwareAddress& hardware) {
        message.add(IFLA_IFNAME, std::string_view(name.c_str(), name.size() + 1));
        message.add(IFLA_ADDRESS, hardware);
        message.add(IFLA_NUM_TX_QUEUES, 1U);
        message.add(IFLA_NUM_RX_QUEUES, 1U);
    };
    describe(here, hardware_here);
    const auto info = message.nest(IFLA_LINKINFO);
    message.add(IFLA_INFO_KIND, "veth");
    const auto data = message.nest(IFLA_INFO_DATA);
    const auto peer = message.nest(VETH_INFO_PEER);
    message.put(ifinfomsg{});
    describe(there, hardware_there);
    message.add(IFLA_NET_NS_FD, static_cast<std::uint32_t>(namespace_there));
    message.end(peer);
    message.end(data);
    message.end(info);
    send(message, "add a pair of virtual interfaces");
}

void LinkMessages::set_up(const std::string& link, bool up) {
    ifinfomsg header{};
    header.ifi_index = index_of(link);
    header.ifi_change = IFF_UP;
    header.ifi_flags = up ? IFF_UP : 0U;
    Message message(RTM_NEWLINK, 0, header);
    send(message, "set a link up or down");
}

void LinkMessages::add_address(const std::string& link, std::uint32_t address) {
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = 32;
    header.ifa_index = static_cast<std::uint32_t>(index_of(link));
    Message message(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, header);
    message.add_address(IFA_LOCAL, address);
    message.add_address(IFA_ADDRESS, address);
    send(message, "give a link an address");
}

void LinkMessages::add_route(const std::string& link, std::uint32_t destination, unsigned bits,
                             std::uint32_t gateway) {
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_dst_len = static_cast<unsigned char>(bits);
    header.rtm_table = RT_TABLE_MAIN;
    header.rtm_protocol = RTPROT_STATIC;
    header.rtm_scope = gateway == 0 ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    header.rtm_type = RTN_UNICAST;
    header.rtm_flags = gateway == 0 ? 0U : static_cast<unsigned>(RTNH_F_ONLINK);
    Message message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, header);
    message.add_address(RTA_DST, destination);
    message.add(RTA_OIF, static_cast<std::uint32_t>(index_of(link)));
    if (gateway != 0) {
        message.add_address(RTA_GATEWAY, gateway);
    }
    send(message, "add a route");
}

void LinkMessages::add_neighbour(const std::string& link, std::uint32_t address, HardwareAddress hardware) {
    ndmsg header{};
    header.ndm_family = AF_INET;
    header.ndm_ifindex = index_of(link);
    header.ndm_state = NUD_PERMANENT;
    Message message(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL, header);
    message.add_address(NDA_DST, address);
    message.add(NDA_LLADDR, hardware);
    send(message, "add a neighbour");
}

} // namespace dockdist::scale
