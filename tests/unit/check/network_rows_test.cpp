#include "client/check/network_rows.hpp"
#include "client/check/peers.hpp"
#include "facts_builder.hpp"

#include <doctest/doctest.h>

namespace network_rows_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

namespace {

const std::map<std::string, std::string> addresses{
    {"node-0", "10.0.0.1"}, {"node-1", "10.0.0.2"}, {"node-2", "10.0.0.3"}};

CheckRow first(const std::vector<CheckedNode>& nodes, const std::string& check) {
    return rows_of(judge_network(nodes, addresses), check).at(0);
}

} // namespace

TEST_CASE("a network on which all is well") {
    const auto rows = judge_network(cluster_facts(3), addresses);
    CHECK(rows_of(rows, "interface").at(2).text == "eth0, up");
    REQUIRE(rows_of(rows, "mtu").size() == 1);
    CHECK(rows_of(rows, "mtu")[0].text == "MTU 1500");
    CHECK(rows_of(rows, "names").at(1).text == "every node's name resolves to its address");
    for (const auto& row : rows) {
        CHECK(row.state == State::pass);
    }
}

TEST_CASE("an interface that is gone, down, without the address, a bridge or loopback, or not told of") {
    auto nodes = cluster_facts(1);
    const auto with = [&](auto change) {
        nodes = cluster_facts(1);
        change(*nodes[0].facts.network);
        const auto row = first(nodes, "interface");
        CHECK(row.state == State::fail);
        CHECK_FALSE(row.hint.empty());
        return row.text;
    };
    CHECK(with([](wire::NetworkFacts& network) { network.there = false; }) == "the interface eth0 is gone");
    CHECK(with([](wire::NetworkFacts& network) { network.up = false; }) == "eth0 is down or has no carrier");
    CHECK(with([](wire::NetworkFacts& network) { network.address_there = false; }) ==
          "eth0 no longer holds the node's address");
    CHECK(with([](wire::NetworkFacts& network) { network.bridge = true; }) ==
          "eth0 is a bridge of this host alone");
    CHECK(with([](wire::NetworkFacts& network) { network.loopback = true; }) ==
          "eth0 is the loopback interface");
    nodes[0].facts.network = Error{ErrorKind::protocol, "", "no such part", ""};
    CHECK(first(nodes, "interface").text == "not known: no such part");
}

TEST_CASE("another way out, another first address and a tunnel are warned of") {
    auto nodes = cluster_facts(1);
    auto& network = *nodes[0].facts.network;
    network.other_ways = {{.interface = "eth1", .node = "node-2", .nodes = 3},
                          {.interface = "eth2", .node = "node-7", .nodes = 1}};
    auto row = first(nodes, "interface");
    CHECK(row.state == State::warn);
    CHECK(row.text ==
          "eth0, up: what goes to node-2 and 2 others leaves by eth1; what goes to node-7 leaves by eth2");
    CHECK(row.hint.find("arp_ignore") != std::string::npos);
    CHECK(row.hint.find("arp_ignore") == row.hint.rfind("arp_ignore")); // told once
    network.other_ways = {{.interface = "eth1\033[2J", .node = "node-2", .nodes = 2}};
    CHECK(first(nodes, "interface").text.find('\033') == std::string::npos);
    network.other_ways.clear();
    network.first_address = "10.7.0.1";
    row = first(nodes, "interface");
    CHECK(row.state == State::warn);
    CHECK(row.text == "eth0, up: its first address is 10.7.0.1, which programs use that only "
                      "know its name (NCCL, Gloo)");
    network.tunnel = true;
    network.first_address.clear();
    row = first(nodes, "interface");
    CHECK(row.state == State::warn);
    CHECK(row.text == "eth0, up: a tunnel, such as a VPN's: all traffic of jobs goes through it");
    CHECK(row.hint.find("network: {subnet:") != std::string::npos);
}

TEST_CASE("an MTU that differs names the odd node") {
    auto nodes = cluster_facts(3);
    nodes[2].facts.network->mtu = 9000;
    const auto rows = rows_of(judge_network(nodes, addresses), "mtu");
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].state == State::warn);
    CHECK(rows[0].subject == "node-2");
    CHECK(rows[0].text == "MTU 9000, and node-0, node-1 have 1500");
}

TEST_CASE("names that resolve to loopback, to another address, to nothing") {
    auto nodes = cluster_facts(3);
    nodes[0].facts.names->addresses["node-0"] = {"127.0.1.1", "10.0.0.1"};
    auto row = first(nodes, "names");
    CHECK(row.state == State::fail);
    CHECK(row.text == "node-0 resolves to 127.0.1.1, a loopback address");
    CHECK(row.hint.find("/etc/hosts") != std::string::npos);
    nodes[0].facts.names->addresses["node-0"] = {"10.0.0.1"};
    nodes[0].facts.names->addresses["node-1"] = {"192.168.0.9"};
    nodes[0].facts.names->addresses.erase("node-2");
    CHECK(first(nodes, "names").text ==
          "node-1 resolves to 192.168.0.9, not to 10.0.0.2; node-2 does not resolve");

    nodes = cluster_facts(3);
    nodes[0].facts.names->hostname = "gpu-box"; // a name of the machine's own
    CHECK(first(nodes, "names").state == State::pass);
    nodes[0].facts.names->addresses["gpu-box"] = {};
    CHECK(first(nodes, "names").state == State::pass);
    nodes[0].facts.names->addresses["gpu-box"] = {"::1"};
    CHECK(first(nodes, "names").text == "gpu-box resolves to ::1, a loopback address");

    nodes[0].facts.names = Error{ErrorKind::timeout, "", "no end within 16 s", ""};
    CHECK(first(nodes, "names").state == State::warn);
    nodes = cluster_facts(3);
    nodes[0].facts.names->by = "hosts";
    CHECK(first(nodes, "names").text ==
          "every node's name resolves to its address (by /etc/hosts alone: the image has no getent)");
}

TEST_CASE("logins: all, one way cut, a node that nobody gets into, one that could not try, one that did not "
          "come back") {
    auto nodes = cluster_facts(3);
    auto rows = judge_logins(nodes);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "all nodes");
    CHECK(rows[0].text == "each logs in to every other, slowest 21 ms (node-2 to node-1)");

    const auto fail = [&](std::size_t from, const std::string& to) {
        auto& login = *std::ranges::find(*nodes[from].facts.logins, to, &wire::PeerLogin::peer);
        login = {.peer = to, .ok = false, .ms = 5000, .message = "Connection timed out"};
    };
    fail(0, "node-1");
    rows = judge_logins(nodes);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].subject == "node-0");
    CHECK(rows[0].text == "no login to node-1: Connection timed out");
    CHECK(rows[1].subject == "node-1, node-2");
    CHECK(rows[1].state == State::pass);

    fail(2, "node-1");
    rows = judge_logins(nodes);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].subject == "node-1");
    CHECK(rows[0].text == "no login from node-0, node-2: Connection timed out");
    CHECK(rows[1].subject == "node-1");
    CHECK(rows[1].text == "logs in to every other, slowest 12 ms (node-1 to node-2)");

    nodes = cluster_facts(3);
    nodes[0].facts.logins = Error{ErrorKind::timeout, "", "no end within 16 s", ""};
    CHECK(judge_logins(nodes).at(0).text == "could not be tried: no end within 16 s");
    nodes = cluster_facts(2);
    nodes[0].facts.logins->clear();
    CHECK(judge_logins(nodes).at(0).text == "no login to node-1: no answer in time");
    CHECK(judge_logins(cluster_facts(1)).at(0).text == "no other node");
}

TEST_CASE("logins of many nodes: some were tried, and the row says how many of how many") {
    auto nodes = cluster_facts(6);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        auto& node = nodes[i];
        node.peers = {"node-" + std::to_string((i + 1) % 6), "node-" + std::to_string((i + 3) % 6)};
        std::erase_if(*node.facts.logins, [&](const wire::PeerLogin& login) {
            return std::ranges::find(node.peers, login.peer) == node.peers.end();
        });
    }
    auto rows = judge_logins(nodes);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].text ==
          "each logs in to some others (12 of 30 pairs; `check --deep` tries all), slowest 52 ms "
          "(node-5 to node-2)");
    nodes[0].facts.logins->pop_back(); // it was told to, and did not come back
    rows = judge_logins(nodes);
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].text == "no login to node-3: no answer in time");
    CHECK(rows[1].subject == "node-[1-5]");
}

} // namespace network_rows_test
