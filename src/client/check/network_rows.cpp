#include "client/check/network_rows.hpp"

#include "client/check/compare.hpp"
#include "shared/core/loopback.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

using State = CheckRow::State;

CheckRow network_row(const CheckedNode& node, const char* check) {
    return {.layer = CheckLayer::network, .subject = node.name.str(), .check = check};
}

CheckRow judge_interface(const CheckedNode& node) {
    auto row = network_row(node, "interface");
    const auto fail = [&row](const std::string& text, const char* hint) {
        row.state = State::fail;
        row.text = text;
        row.hint = hint;
        return row;
    };
    if (!node.facts.network) {
        return fail("not known: " + printable(node.facts.network.error().message),
                    "run `dockdist up` to join the nodes again");
    }
    const auto& network = *node.facts.network;
    const auto name = printable(network.interface);
    constexpr const char* choose =
        "set the host's `address` (or `interface`) to one that its peers reach, then `dockdist up`";
    if (!network.there) {
        return fail("the interface " + name + " is gone", choose);
    }
    if (!network.up) {
        return fail(name + " is down or has no carrier",
                    "look at its cable; on the host: `ip link show` and `ip link set dev NAME up`");
    }
    if (!network.address_there) {
        return fail(name + " no longer holds the node's address", choose);
    }
    if (network.bridge || network.loopback) {
        return fail(name +
                        (network.loopback ? " is the loopback interface" : " is a bridge of this host alone"),
                    choose);
    }
    row.text = name + ", up";
    const auto warn = [&row](const std::string& text, const char* hint) {
        row.state = State::warn;
        row.text += (row.text.ends_with(", up") ? ": " : "; ") + text;
        row.hint += (row.hint.empty() ? "" : "; ") + std::string(hint);
    };
    std::string ways;
    for (const auto& way : network.other_ways) {
        ways += fmt::format(
            "{}what goes to {}{} leaves by {}", ways.empty() ? "" : "; ", printable(way.node),
            way.nodes > 1 ? fmt::format(" and {} other{}", way.nodes - 1, way.nodes > 2 ? "s" : "") : "",
            printable(way.interface));
    }
    if (!ways.empty()) {
        warn(ways,
             "two interfaces of the host lead there (`ip route get ADDRESS from OWN` on it): put them into "
             "networks of their own, or give each a routing table (`ip rule add from OWN table N`) and set "
             "net.ipv4.conf.all.arp_ignore=1, arp_announce=2 and rp_filter=2");
    }
    if (!network.first_address.empty()) {
        warn(fmt::format("its first address is {}, which programs use that only know its name (NCCL, Gloo)",
                         printable(network.first_address)),
             "set the host's `address` to the interface's first one, or put the other on an interface of its "
             "own");
    }
    if (network.tunnel) {
        warn("a tunnel, such as a VPN's: all traffic of jobs goes through it",
             "good enough to try things; for training, give the hosts a network of their own and name it: "
             "`network: {subnet: 10.1.0.0/16}`");
    }
    return row;
}

void compare_mtu(const std::vector<CheckedNode>& nodes, std::vector<CheckRow>& rows) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const auto& node : nodes) {
        if (node.facts.network && node.facts.network->mtu > 0) {
            values.emplace_back(node.name.str(), std::to_string(node.facts.network->mtu));
        }
    }
    const auto odd = find_odd(values);
    if (odd.others.empty() && !values.empty()) {
        rows.push_back({.layer = CheckLayer::network,
                        .subject = values.size() > 1 ? "all nodes" : values.front().first,
                        .check = "mtu",
                        .text = "MTU " + odd.common});
    }
    const CheckRow model{
        .state = State::warn,
        .layer = CheckLayer::network,
        .check = "mtu",
        .hint =
            "give every host's interface the same MTU, and the switch at least that (`ip link set dev "
            "NAME mtu N`): packets that are too large vanish, and a job hangs at its first large message"};
    std::ranges::move(odd_rows(odd, model, "MTU "), std::back_inserter(rows));
}

// What is wrong with one name, or nothing.
std::string wrong_with(const std::string& name, const std::vector<std::string>& found,
                       const std::string& expected) {
    if (found.empty()) {
        return printable(name) + " does not resolve";
    }
    const auto loopback = std::ranges::find_if(found, is_loopback);
    if (loopback != found.end()) {
        return fmt::format("{} resolves to {}, a loopback address", printable(name), printable(*loopback));
    }
    if (!expected.empty() && found.front() != expected) {
        return fmt::format("{} resolves to {}, not to {}", printable(name), printable(found.front()),
                           printable(expected));
    }
    return "";
}

CheckRow judge_names(const CheckedNode& node, const std::map<std::string, std::string>& addresses) {
    auto row = network_row(node, "names");
    if (!node.facts.names) {
        row.state = State::warn;
        row.text = "not known: " + printable(node.facts.names.error().message);
        row.hint = "does /etc/resolv.conf of the host name a DNS server that does not answer?";
        return row;
    }
    std::string wrong;
    const auto add = [&](const std::string& name, const std::string& expected) {
        const auto found = node.facts.names->addresses.find(name);
        const auto what = wrong_with(
            name, found == node.facts.names->addresses.end() ? std::vector<std::string>{} : found->second,
            expected);
        wrong += (wrong.empty() || what.empty() ? "" : "; ") + what;
    };
    for (const auto& [name, address] : addresses) {
        add(name, address);
    }
    // Gloo asks for the name of the machine. One that does not resolve at all harms nobody.
    const auto own = node.facts.names->addresses.find(node.facts.names->hostname);
    if (!addresses.contains(node.facts.names->hostname) && own != node.facts.names->addresses.end() &&
        !own->second.empty()) {
        add(node.facts.names->hostname, "");
    }
    if (!wrong.empty()) {
        row.state = State::fail;
        row.text = wrong;
        row.hint = "something changed /etc/hosts in the node after it joined: fix it there, or recreate the "
                   "node with `dockdist down` and `dockdist up`";
        return row;
    }
    row.text = addresses.size() == 1 ? "its name resolves to its address"
                                     : "every node's name resolves to its address";
    if (node.facts.names->by == "hosts") {
        row.text += " (by /etc/hosts alone: the image has no getent)";
    }
    return row;
}

} // namespace

std::vector<CheckRow> judge_network(const std::vector<CheckedNode>& nodes,
                                    const std::map<std::string, std::string>& addresses) {
    std::vector<CheckRow> rows;
    std::ranges::transform(nodes, std::back_inserter(rows), judge_interface);
    compare_mtu(nodes, rows);
    std::ranges::transform(nodes, std::back_inserter(rows),
                           [&](const CheckedNode& node) { return judge_names(node, addresses); });
    return rows;
}

} // namespace dockdist
