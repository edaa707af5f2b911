// Hosts that fail, where `min_nodes` or --keep-going lets `up` go on without them.
#include "client/cluster/left_out.hpp"
#include "client/plan/plan.hpp"
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace up_missing_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

const Error refused{ErrorKind::unreachable, "", "refused the connection", ""};
const Error full{ErrorKind::engine, "", "no space left", "free some"};

std::string nodes_of(const UpResult& result) {
    std::string text;
    for (const auto& node : result.nodes) {
        text += (text.empty() ? "" : " ") + node.name.str();
    }
    return text;
}

// "node-2: no space left".
std::string reasons(const Errors& errors) {
    std::string text;
    for (const auto& error : errors) {
        text += error.where.substr(0, error.where.find(' ')) + ": " + error.message + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("a host that fails at any step is left out, and what was made on it is taken back") {
    for (const auto* call :
         {"ping", "create_container dockdist-vision", "attach_container", "start_container"}) {
        CAPTURE(call);
        FakeCluster cluster(4);
        cluster.spec.min_nodes = 3;
        cluster.fakes[2]->fail(call, full, -1);
        const auto result = cluster.up();
        CHECK_MESSAGE(result.errors.empty(), reasons(result.errors));
        CHECK(nodes_of(result) == "node-0 node-1 node-3");
        CHECK(reasons(result.missing) == "node-2: no space left\n");
        CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-node-0",
                                                               "1:dockdist-vision-node-1",
                                                               "3:dockdist-vision-node-3"});
    }
}

TEST_CASE("a host that was never reached is not asked for what was made when all fails") {
    FakeCluster cluster(3);
    cluster.spec.min_nodes = 2;
    cluster.fakes[2]->fail("", refused, -1);
    cluster.fakes[1]->fail("start_container", full, -1);
    const auto result = cluster.up();
    CHECK(reasons(result.errors) == "node-2: refused the connection\nnode-1: no space left\n");
    CHECK(cluster.containers().empty());
}

TEST_CASE("a node that its peers cannot reach is left out, and its container goes") {
    FakeCluster cluster(6);
    cluster.spec.min_nodes = 5;
    cluster.fakes[1]->on_exec("attach", [](FakeExec exec) -> Task<int> {
        const auto line = co_await exec.read_line();
        const auto request = wire::parse_join_request(*line);
        exec.out(wire::hello_line(
            {.node = request->node, .rank = request->rank, .address = request->address, .ssh_port = 2222}));
        (void)co_await exec.read_line();
        exec.out(wire::error_line({ErrorKind::unreachable, "", "node-1 cannot reach node-2", "open it"},
                                  {{.node = "node-2", .cause = "Connection refused"}}));
        co_return 1;
    });
    const auto result = cluster.up();
    CHECK_MESSAGE(result.errors.empty(), reasons(result.errors));
    CHECK(nodes_of(result) == "node-0 node-1 node-3 node-4 node-5");
    CHECK(reasons(result.missing) == "node-2: node-1 cannot reach it at 10.0.0.3:2222: Connection refused\n");
    CHECK(cluster.fakes[2]->containers.empty());
}

TEST_CASE("fewer than min_nodes is a failure as without it, and tells of all that is missing") {
    FakeCluster cluster(4);
    cluster.spec.min_nodes = 3;
    cluster.fakes[1]->fail("ping", refused, -1);
    cluster.fakes[2]->fail("start_container", full, -1);
    const auto result = cluster.up();
    CHECK(reasons(result.errors) == "node-1: refused the connection\nnode-2: no space left\n");
    CHECK(result.missing.empty());
    CHECK(cluster.containers().empty());
}

TEST_CASE(
    "without min_nodes one host that fails is a failure, with --keep-going one that is left is enough") {
    FakeCluster cluster(3);
    cluster.fakes[0]->fail("ping", refused, -1);
    cluster.fakes[1]->fail("ping", refused, -1);
    CHECK(reasons(cluster.up().errors) == "node-0: refused the connection\nnode-1: refused the connection\n");
    CHECK(cluster.up().errors.front().hint == "or go on without it: `dockdist up --keep-going`");
    CHECK(cluster.containers().empty());
    cluster.options.keep_going = true;
    const auto result = cluster.up("a2");
    CHECK(result.errors.empty());
    CHECK(nodes_of(result) == "node-2"); // and the lock was there, and is gone
    CHECK(cluster.containers() == std::vector<std::string>{"2:dockdist-vision-node-2"});
    cluster.fakes[2]->fail("ping", refused, -1);
    CHECK(cluster.up("a3").errors.size() == 3);
    cluster.options.keep_going = false;
    const auto none = cluster.up("a4").errors;
    REQUIRE(none.size() == 3);
    CHECK(none.front().hint.empty()); // nothing is left to go on with
}

TEST_CASE("a later up adds the missing, and leaves the others' containers alone") {
    FakeCluster cluster(4);
    cluster.spec.min_nodes = 3;
    cluster.fakes[3]->fail("ping", refused, 2);
    CHECK(nodes_of(cluster.up()) == "node-0 node-1 node-2");
    const auto before = cluster.fakes[0]->container("dockdist-vision-node-0").id;
    const auto writes = cluster.fakes[0]->writing_calls().size();
    const auto again = cluster.up("a2"); // still missing: nothing to do
    CHECK(again.errors.empty());
    CHECK_FALSE(again.changed);
    CHECK(nodes_of(again) == "node-0 node-1 node-2");
    CHECK(reasons(again.missing) == "node-3: refused the connection\n");
    CHECK(cluster.fakes[0]->writing_calls().size() == writes);
    const auto whole = cluster.up("a3");
    CHECK(whole.errors.empty());
    CHECK(whole.missing.empty());
    CHECK(nodes_of(whole) == "node-0 node-1 node-2 node-3");
    CHECK(whole.nodes[3].record.rank == 3);
    CHECK(cluster.fakes[0]->container("dockdist-vision-node-0").id == before);
}

TEST_CASE("a node that stood and whose host does not answer changes nothing for the others") {
    FakeCluster cluster(4);
    cluster.spec.min_nodes = 3;
    CHECK(cluster.up().errors.empty());
    cluster.fakes[1]->fail("ping", refused, 1);
    const auto result = cluster.up("a2");
    CHECK(result.errors.empty());
    CHECK_FALSE(result.changed);
    CHECK(nodes_of(result) == "node-0 node-2 node-3");
}

TEST_CASE("what everybody has to know of leaves no host out") {
    FakeCluster cluster(3);
    LeftOut left_out(cluster.spec, true);
    const auto label = host_label(cluster.spec.hosts[1]);
    CHECK_FALSE(left_out.take({{ErrorKind::locked, label, "somebody is at work", ""}}));
    CHECK_FALSE(left_out.take({{ErrorKind::conflict, "image train:1", "it differs", ""}}));
    CHECK_FALSE(left_out.take({{ErrorKind::engine, label, "x", ""}, {ErrorKind::job, "", "y", ""}}));
    CHECK_FALSE(left_out.any());
    CHECK(left_out.take({{ErrorKind::engine, "node-1 on " + label, "x", ""}}));
    CHECK(left_out.others() == std::vector<bool>{true, false, true});
    CHECK_FALSE(left_out.take({{ErrorKind::engine, label, "again", ""}})); // else `up` would never end
    CHECK(left_out.errors().size() == 1);
}

} // namespace up_missing_test
