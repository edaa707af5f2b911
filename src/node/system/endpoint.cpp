#include "node/system/endpoint.hpp"

#include "shared/core/host_list.hpp"
#include "shared/core/ip_address.hpp"
#include "shared/core/subnet.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace dockdist::node {
namespace {

constexpr std::size_t most_interfaces_listed = 24; // some hosts have hundreds

// Interfaces that engines and their kin make for themselves: no peer on another host is behind them.
bool is_engine_interface(std::string_view name) {
    for (const std::string_view prefix :
         {"docker", "veth", "br-", "virbr", "cni", "flannel", "cali", "podman", "lxc"}) {
        if (name.starts_with(prefix)) {
            return true;
        }
    }
    return false;
}

bool is_usable(const InterfaceAddress& one) {
    return !one.loopback && (one.leads_out || !is_engine_interface(one.interface));
}

std::string list_interfaces(const std::vector<InterfaceAddress>& available) {
    std::vector<std::string> names;
    for (const auto& one : available) {
        names.push_back(one.interface + " " + one.address);
    }
    return names.empty() ? "none" : first_names(names, most_interfaces_listed);
}

std::string list_subnets(const std::vector<std::string>& subnets) {
    std::string list;
    for (const auto& subnet : subnets) {
        list += (list.empty() ? "" : " or ") + printable(subnet);
    }
    return list + " (`network.subnet`)";
}

Endpoint to_endpoint(const InterfaceAddress& one) {
    return {one.address, one.interface};
}

// Of some, of which there is one.
Endpoint first_lasting(const std::vector<InterfaceAddress>& some) {
    const auto lasting = std::ranges::find_if(some, [](const InterfaceAddress& one) { return !one.passing; });
    return to_endpoint(lasting == some.end() ? some.front() : *lasting);
}

Result<Endpoint> endpoint_with(const WantedEndpoint& wanted, const std::vector<InterfaceAddress>& available) {
    bool held = false;
    for (const auto& one : available) {
        if (is_same_address(one.address, wanted.address)) {
            held = true;
            if (wanted.interface.empty() || without_label(wanted.interface) == without_label(one.interface)) {
                return to_endpoint(one);
            }
        }
    }
    return Error{.kind = ErrorKind::config,
                 .message = held ? "the address " + wanted.address + " is not on the interface " +
                                       printable(wanted.interface)
                                 : "no interface of this host has the address " + printable(wanted.address),
                 .hint = "set the host's `address` to one of: " + list_interfaces(available)};
}

Result<Endpoint> endpoint_on(const WantedEndpoint& wanted, const std::vector<InterfaceAddress>& available) {
    std::vector<InterfaceAddress> there;
    std::ranges::copy_if(available, std::back_inserter(there), [&](const InterfaceAddress& one) {
        return without_label(one.interface) == wanted.interface;
    });
    if (there.empty()) {
        return Error{.kind = ErrorKind::config,
                     .message =
                         "this host has no interface " + printable(wanted.interface) + " with an address",
                     .hint = "set the host's `interface` to one of: " + list_interfaces(available)};
    }
    if (wanted.subnets.empty()) {
        return first_lasting(there);
    }
    std::vector<InterfaceAddress> within;
    std::ranges::copy_if(there, std::back_inserter(within),
                         [&](const InterfaceAddress& one) { return any_holds(wanted.subnets, one.address); });
    if (within.empty()) {
        return Error{.kind = ErrorKind::config,
                     .message = "the interface " + printable(wanted.interface) +
                                " of this host has no address in " + list_subnets(wanted.subnets),
                     .hint = "it has: " + list_interfaces(there) +
                             "; name another with the host's `interface`, or its `address`, or "
                             "correct the subnet"};
    }
    return first_lasting(within);
}

Result<Endpoint> endpoint_within(const std::vector<std::string>& subnets,
                                 const std::vector<InterfaceAddress>& available) {
    std::vector<InterfaceAddress> within;
    std::ranges::copy_if(available, std::back_inserter(within), [&](const InterfaceAddress& one) {
        return is_usable(one) && !one.passing && any_holds(subnets, one.address);
    });
    if (within.empty()) {
        return Error{.kind = ErrorKind::config,
                     .message = "this host has no address in " + list_subnets(subnets),
                     .hint = "is its interface there up? It has: " + list_interfaces(available) +
                             "; name one with the host's `address` or `interface`, or correct the subnet"};
    }
    const auto interface = without_label(within.front().interface);
    if (std::ranges::all_of(
            within, [&](const InterfaceAddress& one) { return without_label(one.interface) == interface; })) {
        return to_endpoint(within.front());
    }
    return Error{.kind = ErrorKind::config,
                 .message = "this host has addresses of more than one interface in " + list_subnets(subnets) +
                            ": " + list_interfaces(within),
                 .hint = "say which with the host's `interface` or `address`"};
}

// Of the default route's interface rather than of another; there one that lasts, and its own, first.
int preference(const InterfaceAddress& one, const std::string& own, const std::string& own_interface) {
    return (without_label(one.interface) == own_interface ? 4 : 0) + (one.passing ? 0 : 2) +
           (is_same_address(one.address, own) ? 1 : 0);
}

Result<Endpoint> endpoint_by_default(const std::string& own, const std::vector<InterfaceAddress>& available) {
    const auto holds_own = [&](const InterfaceAddress& one) { return is_same_address(one.address, own); };
    const auto holder = std::ranges::find_if(available, holds_own);
    const auto interface = holder == available.end() ? "" : without_label(holder->interface);
    const auto kind = [&](const InterfaceAddress& one) {
        const bool of_link = one.address.starts_with("169.254.") && !holds_own(one); // a BMC's, say
        return read_ipv6(one.address) ? 1 : of_link ? 2 : 0;
    };
    for (const int wanted : {0, 1, 2}) {
        const InterfaceAddress* best = nullptr;
        for (const auto& one : available) {
            if (is_usable(one) && kind(one) == wanted &&
                (best == nullptr || preference(one, own, interface) > preference(*best, own, interface))) {
                best = &one;
            }
        }
        if (best != nullptr) {
            return to_endpoint(*best);
        }
    }
    return Error{.kind = ErrorKind::config,
                 .message = "this host has no address that peers could reach",
                 .hint = "name one with the host's `address`; its interfaces: " + list_interfaces(available)};
}

} // namespace

std::string without_label(const std::string& interface) {
    return interface.substr(0, interface.find(':'));
}

Result<Endpoint> choose_endpoint(const WantedEndpoint& wanted,
                                 const std::vector<InterfaceAddress>& available) {
    if (!wanted.address.empty()) {
        auto there = endpoint_with(wanted, available);
        if (there || !wanted.derived || wanted.interface.empty()) {
            return there;
        }
    }
    if (!wanted.interface.empty()) {
        return endpoint_on(wanted, available);
    }
    if (!wanted.subnets.empty()) {
        return endpoint_within(wanted.subnets, available);
    }
    return endpoint_by_default(wanted.default_address, available);
}

} // namespace dockdist::node
