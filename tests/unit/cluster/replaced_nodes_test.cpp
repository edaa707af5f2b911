#include "client/cluster/down.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/plan.hpp"
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace replaced_nodes_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

const std::vector<std::string> two_nodes{"0:dockdist-vision-node-0", "1:dockdist-vision-node-1"};
constexpr const char* node_1 = "dockdist-vision-node-1";
constexpr const char* aside_1 = "dockdist-vision-node-1.replaced";

// Two nodes that are up, and a file that has changed the second.
struct Changed : FakeCluster {
    Changed() : FakeCluster(2) {
        REQUIRE(up().errors.empty());
        old = fakes[1]->container(node_1).id;
        spec.hosts[1].env["NVIDIA_DEBUG"] = "INFO";
        fakes[1]->calls.clear();
        fakes[0]->calls.clear();
        log.clear();
    }
    // All is as it was, and the cluster knows itself.
    void check_as_it_was() {
        CHECK(containers() == two_nodes);
        REQUIRE(fakes[1]->containers.contains(node_1));
        const auto& there = fakes[1]->container(node_1);
        CHECK(there.id == old);
        CHECK(there.state == ContainerState::running);
        auto before = spec;
        before.hosts[1].env.clear();
        const auto seen = run_task(io, observe(before, engines, {"t1"}, reporter));
        const PlanContext context{.toolkits = Toolkits({{.architecture = "amd64", .version = "t1"}}),
                                  .origin = options.origin,
                                  .attempt = "a9"};
        CHECK(to_text(make_plan(before, seen.cluster, context).plan, before) == "nothing to do\n");
    }
    void check_replaced() {
        CHECK(containers() == two_nodes);
        CHECK(fakes[1]->container(node_1).id != old);
        CHECK(fakes[1]->container(node_1).state == ContainerState::running);
    }
    // The second node's; what comes after it asks for what the node had.
    void fail_first_join() {
        fakes[1]->on_exec("join", [this](FakeExec exec) -> Task<int> {
            const auto text = exec.config().command.back();
            if (++joins == 1) {
                exec.out(wire::error_line({ErrorKind::node, "", "port 2222 is taken", ""}));
                co_return 1;
            }
            const auto request = wire::parse_join_request(text);
            CHECK((request->ssh_port == 2222 && request->nodes == 2 && request->nodes_beside == 1));
            co_return co_await play_join(*fakes[1], exec, text, false);
        });
    }

    ContainerId old{};
    int joins = 0;
};

std::size_t place_of(const std::vector<std::string>& calls, const std::string& part) {
    return static_cast<std::size_t>(
        std::ranges::find_if(calls, [&](const auto& call) { return call.find(part) != std::string::npos; }) -
        calls.begin());
}

} // namespace

TEST_CASE("the old container runs until the new one has started, and goes when the new one is ready") {
    Changed cluster;
    const auto result = cluster.up("a2");
    CHECK(result.errors.empty());
    CHECK(result.warnings.empty());
    cluster.check_replaced();
    const auto& calls = cluster.fakes[1]->calls;
    const std::vector<std::size_t> places{
        place_of(calls, "rename_container dockdist-vision-node-1 "),
        place_of(calls, "create_container dockdist-vision-node-1"),
        place_of(calls, "start_container dockdist-vision-node-1"),
        place_of(calls, "stop_container dockdist-vision-node-1.replaced"),
        place_of(calls, "dockdist-init join"),
        place_of(calls, "remove_container dockdist-vision-node-1.replaced")};
    CHECK(std::ranges::is_sorted(places));
    CHECK(places.back() < calls.size());
}

TEST_CASE("every call of an up that replaces a node fails in turn: the node is there as it was") {
    Changed reference;
    reference.up("a2");
    const auto all = reference.fakes[1]->calls;
    for (std::size_t i = 0; i < all.size(); ++i) {
        CAPTURE(all[i]);
        Changed cluster;
        int seen = 0;
        cluster.fakes[1]->on_call = [&, index = static_cast<int>(i)](const std::string& call) {
            if (seen++ == index) {
                cluster.fakes[1]->fail(call, {ErrorKind::engine, "", "broken", ""});
            }
        };
        const auto result = cluster.up("a2");
        if (all[i].ends_with("dockdist-init members")) { // whom it knows beside the file's: nice to know
            CHECK(result.errors.empty());
        } else if (all[i].starts_with("remove_container") || // the new one is ready by then
                   all[i].starts_with("container_diff")) {
            CHECK(result.errors.empty());
            REQUIRE(result.warnings.size() == 1);
            CHECK(result.warnings[0].message.find("broken") != std::string::npos);
        } else {
            REQUIRE_FALSE(result.errors.empty());
            CHECK(result.errors[0].message.find("broken") != std::string::npos);
            cluster.check_as_it_was();
        }
        cluster.fakes[1]->on_call = {};
        CHECK(cluster.up("a3").errors.empty());
        cluster.check_replaced();
    }
}

TEST_CASE("the answer of each call is lost in turn: the node is there as it was, and the next up converges") {
    Changed reference;
    reference.up("a2");
    for (const auto& call : reference.fakes[1]->writing_calls()) {
        CAPTURE(call);
        Changed cluster;
        cluster.fakes[1]->lose_answer(call);
        if (const auto result = cluster.up("a2"); !result.errors.empty()) {
            cluster.check_as_it_was();
        }
        CHECK(cluster.up("a3").errors.empty());
        cluster.check_replaced();
    }
}

TEST_CASE("a node that never becomes ready is taken back, and the old one joins the others again") {
    Changed cluster;
    cluster.fail_first_join();
    const auto result = cluster.up("a2");
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].message.find("port 2222 is taken") != std::string::npos);
    CHECK(cluster.joins == 2);
    cluster.check_as_it_was();
}

TEST_CASE("a create that was cut off has the name for a while yet") {
    Changed cluster;
    cluster.fakes[1]->fail("create_container dockdist-vision-node-1",
                           {ErrorKind::unreachable, "", "cut off", ""});
    cluster.fakes[1]->fail("rename_container dockdist-vision-node-1.replaced",
                           {ErrorKind::conflict, "", "the name is in use", ""});
    CHECK(cluster.up("a2").errors.size() == 1);
    cluster.check_as_it_was();
}

TEST_CASE("--keep leaves both, and the next up finishes it") {
    Changed cluster;
    cluster.options.keep = true;
    cluster.fakes[1]->fail("start_container", {ErrorKind::engine, "", "no GPU", ""});
    CHECK(cluster.up("a2").errors.size() == 1);
    CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-node-0",
                                                           "1:dockdist-vision-node-1",
                                                           "1:dockdist-vision-node-1.replaced"});
    CHECK(cluster.up("a3").errors.empty());
    cluster.check_replaced();
}

TEST_CASE("a client was killed when the old one was set aside: with the old file it gets its name back") {
    Changed cluster;
    run_task(cluster.io, cluster.fakes[1]->rename_container(cluster.old, aside_1));
    SUBCASE("the old file") {
        cluster.spec.hosts[1].env.clear();
        CHECK(cluster.up("a2").errors.empty());
        cluster.check_as_it_was();
    }
    SUBCASE("the new file") {
        CHECK(cluster.up("a2").errors.empty());
        cluster.check_replaced();
    }
    SUBCASE("the new file, and it fails") {
        cluster.fakes[1]->fail("create_container dockdist-vision-node-1",
                               {ErrorKind::engine, "", "broken", ""});
        CHECK(cluster.up("a2").errors.size() == 1);
        cluster.check_as_it_was();
    }
}

TEST_CASE("a client was killed when both were there: the one that works counts") {
    Changed cluster;
    run_task(cluster.io, cluster.fakes[1]->rename_container(cluster.old, aside_1));
    ContainerConfig config;
    config.labels = cluster.fakes[1]->container(aside_1).config.labels;
    config.labels[labels::attempt] = "a2";
    auto& unfinished = cluster.fakes[1]->add_container(node_1, config, ContainerState::running);
    const auto unfinished_id = unfinished.id;
    SUBCASE("the new one has not joined: it is made anew, and the old one is there if that fails") {
        SUBCASE("it does not") {
            CHECK(cluster.up("a3").errors.empty());
            cluster.check_replaced();
            CHECK(cluster.fakes[1]->container(node_1).id != unfinished_id);
        }
        SUBCASE("it does") {
            cluster.fakes[1]->fail("start_container", {ErrorKind::engine, "", "broken", ""});
            CHECK(cluster.up("a3").errors.size() == 1);
            cluster.check_as_it_was();
        }
        SUBCASE("it does when the old one has ended") {
            cluster.fail_first_join();
            CHECK(cluster.up("a3").errors.size() == 1);
            CHECK(cluster.joins == 2);
            cluster.check_as_it_was();
        }
    }
    SUBCASE("down removes both") {
        NoReport reporter;
        run_task(cluster.io, down(cluster.spec, cluster.engines, {}, reporter));
        CHECK(cluster.containers().empty());
    }
}

} // namespace replaced_nodes_test
