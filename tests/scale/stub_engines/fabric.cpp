#include "scale/stub_engines/fabric.hpp"

#include "scale/stub_engines/link_messages.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sstream>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace dockdist::scale {
namespace {

constexpr std::uint32_t node_network = 0x0a650000; // 10.101.0.0
constexpr unsigned node_network_bits = 16;
constexpr std::uint32_t router_address = 0xa9fe6501; // 169.254.101.1: on every link, and nowhere else
constexpr HardwareAddress hardware_of_host{2, 0, 0, 0, 0, 2}, hardware_of_router{2, 0, 0, 0, 0, 1};
constexpr int hosts_a_block = 250;

[[noreturn]] void fabric_failed(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

Fd current_network() {
    Fd fd(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!fd.open()) {
        fabric_failed("open the network namespace");
    }
    return fd;
}

Fd new_network() {
    if (::unshare(CLONE_NEWNET) != 0) {
        fabric_failed("make a network namespace");
    }
    return current_network();
}

void write_setting(const char* path, const char* value) {
    std::ofstream(path) << value; // what is not there (a kernel without IPv6) need not be set
}

// The kernel tells of a carrier up to a second after it is there. Who asks for it by this call gets it told
// at once.
void tell_carrier_of(const char* link) {
    const Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ethtool_value carrier{.cmd = ETHTOOL_GLINK, .data = 0};
    ifreq request{};
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", link);
    request.ifr_data = reinterpret_cast<char*>(&carrier);
    if (!any.open() || ::ioctl(any.get(), SIOCETHTOOL, &request) != 0) {
        fabric_failed("ask for the carrier of a link");
    }
    if (carrier.data == 0) {
        throw std::runtime_error("a link has no carrier");
    }
}

std::string link_of(int host) {
    return "h" + std::to_string(host);
}

std::uint32_t address_number(int host) {
    return node_network + static_cast<std::uint32_t>(host / hosts_a_block * 256 + host % hosts_a_block + 1);
}

} // namespace

InNamespace::InNamespace(int target, int own) : own_(own) {
    if (::setns(target, CLONE_NEWNET) != 0) {
        fabric_failed("enter a network namespace");
    }
}

InNamespace::~InNamespace() {
    if (::setns(own_, CLONE_NEWNET) != 0) {
        std::abort(); // everything after it would happen on the wrong machine
    }
}

Fabric::Fabric(int hosts, std::uint64_t bandwidth) : own_(current_network()) {
    if (hosts > 60'000) {
        throw std::runtime_error("more hosts than the network has addresses");
    }
    router_ = new_network();
    write_setting("/proc/sys/net/ipv4/ip_forward", "1");
    write_setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    for (int host = 0; host < hosts; ++host) {
        add_host(host);
        if (bandwidth != 0) {
            limit(host, bandwidth);
        }
    }
    if (::setns(own_.get(), CLONE_NEWNET) != 0) {
        fabric_failed("go back to the own network namespace");
    }
}

void Fabric::add_host(int host) {
    hosts_.push_back(new_network());
    write_setting("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    const auto address = address_number(host);
    {
        const InNamespace in_router(router_.get(), hosts_.back().get());
        LinkMessages router;
        router.add_pair(link_of(host), hardware_of_router, "eth0", hardware_of_host, hosts_.back().get());
        router.set_up(link_of(host));
        router.add_route(link_of(host), address, 32, 0);
        router.add_neighbour(link_of(host), address, hardware_of_host);
    }
    LinkMessages own;
    own.set_up("lo");
    own.set_up("eth0");
    own.add_address("eth0", address);
    own.add_route("eth0", node_network, node_network_bits, router_address);
    own.add_neighbour("eth0", router_address, hardware_of_router);
    tell_carrier_of("eth0");
}

// Both ways: what the host sends is held up at its own end, what comes to it at the router's.
void Fabric::limit(int host, std::uint64_t bandwidth) const {
    const auto shape = [&](int network, const std::string& link) {
        const InNamespace there(network, hosts_.back().get());
        const auto command = fmt::format(
            "tc qdisc replace dev {} root tbf rate {}bps burst 128kb latency 200ms", link, bandwidth);
        if (std::system(command.c_str()) !=
            0) { // NOLINT(cert-env33-c,concurrency-mt-unsafe): no input of anybody's
            throw std::runtime_error("cannot limit a link: " + command);
        }
    };
    shape(network_of(host), "eth0");
    shape(router_.get(), link_of(host));
}

std::string Fabric::engine_address(int host) {
    return fmt::format("127.101.{}.{}", host / hosts_a_block, host % hosts_a_block + 1);
}

std::string Fabric::node_address(int host) {
    return fmt::format("10.101.{}.{}", host / hosts_a_block, host % hosts_a_block + 1);
}

std::uint64_t Fabric::connections_begun() const {
    std::uint64_t sum = 0;
    for (const auto& host : hosts_) {
        const InNamespace there(host.get(), own_.get());
        std::ifstream file("/proc/thread-self/net/snmp");
        std::string names;
        for (std::string line; std::getline(file, line);) {
            if (!line.starts_with("Tcp:")) {
                continue;
            }
            if (names.empty()) {
                names = line;
                continue;
            }
            std::istringstream name_words(names);
            std::istringstream value_words(line);
            for (std::string name, value; name_words >> name && value_words >> value;) {
                sum += name == "ActiveOpens" ? std::stoull(value) : 0;
            }
        }
    }
    return sum;
}

void Fabric::cut(int host) const {
    const InNamespace there(network_of(host), own_.get());
    LinkMessages().set_up("eth0", false);
}

} // namespace dockdist::scale
