#include "client/cluster/down.hpp"
#include "client/cluster/lock.hpp"
#include "client/plan/labels.hpp"
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

namespace up_lock_test {

using namespace dockdist;
using namespace dockdist::testing;

TEST_CASE("somebody alive holds an older lock: who, and for how long") {
    FakeCluster cluster(1);
    auto holder = this_process();
    cluster.fakes[0]->add_container(
        "dockdist-vision-lock",
        {.labels = {{labels::cluster, "vision"}, {labels::role, "lock"}, {labels::holder, to_label(holder)}}},
        ContainerState::created);
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].kind == ErrorKind::locked);
    CHECK(result.errors[0].message.find(holder.user + "@" + holder.machine) != std::string::npos);
    CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-lock"});

    cluster.options.break_lock = true;
    CHECK(cluster.up("a2").errors.empty());
}

TEST_CASE("the lock is one volume while up works, and gone in the end") {
    FakeCluster cluster(2);
    std::size_t seen = 0;
    cluster.fakes[1]->on_call = [&](const std::string& call) {
        if (call.starts_with("start_container")) {
            seen += cluster.fakes[0]->volumes.count("dockdist-vision-lock");
        }
    };
    CHECK(cluster.up().errors.empty());
    CHECK(seen == 1);
    CHECK(cluster.fakes[0]->volumes.count("dockdist-vision-lock") == 0);
    CHECK(cluster.fakes[1]->volumes.count("dockdist-vision-lock") == 0);
}

TEST_CASE("a lock that is left when all is up goes with the next up") {
    FakeCluster cluster(1);
    cluster.up();
    auto holder = this_process();
    holder.process_start = "1";
    cluster.fakes[0]->volumes["dockdist-vision-lock"] = {
        .name = "dockdist-vision-lock",
        .labels = {{labels::cluster, "vision"}, {labels::attempt, "a0"}, {labels::holder, to_label(holder)}}};
    const auto result = cluster.up("a2");
    CHECK(result.errors.empty());
    CHECK_FALSE(result.changed);
    CHECK(cluster.fakes[0]->volumes.count("dockdist-vision-lock") == 0);
}

TEST_CASE("down is refused while somebody holds the lock, and takes a stale one away") {
    for (const bool held : {true, false}) {
        FakeCluster cluster(1);
        cluster.up();
        auto holder = this_process();
        holder.process_start = held ? holder.process_start : "1";
        cluster.fakes[0]->volumes["dockdist-vision-lock"] = {.name = "dockdist-vision-lock",
                                                             .labels = {{labels::cluster, "vision"},
                                                                        {labels::attempt, "a0"},
                                                                        {labels::holder, to_label(holder)}}};
        const auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
        CHECK(result.errors.empty() == !held);
        CHECK(cluster.containers().empty() == !held);
        CHECK(cluster.fakes[0]->volumes.contains("dockdist-vision-lock") == held);
    }
}

TEST_CASE("down looks for the lock on the first host that answers") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[0]->fail("list_containers", {ErrorKind::unreachable, "", "no route to host", ""});
    cluster.fakes[1]->volumes["dockdist-vision-lock"] = {
        .name = "dockdist-vision-lock",
        .labels = {{labels::cluster, "vision"}, {labels::holder, to_label(this_process())}}};
    const auto result = run_task(cluster.io, down(cluster.spec, cluster.engines, {}, cluster.reporter));
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].kind == ErrorKind::locked);
    CHECK(result.errors[0].where.starts_with("node-1 "));
}

TEST_CASE("a volume of the lock's name that is somebody else's is told and stays") {
    for (const bool broken : {false, true}) {
        FakeCluster cluster(1);
        cluster.fakes[0]->volumes["dockdist-vision-lock"] = {.name = "dockdist-vision-lock"};
        cluster.options.break_lock = broken;
        const auto result = cluster.up();
        REQUIRE(result.errors.size() == 1);
        CHECK(result.errors[0].kind == ErrorKind::conflict);
        CHECK(result.errors[0].message.find("volume named dockdist-vision-lock") != std::string::npos);
        CHECK(cluster.fakes[0]->volumes.contains("dockdist-vision-lock"));
        CHECK(cluster.containers().empty());
    }
}

TEST_CASE("an older lock of a process that is gone is taken") {
    FakeCluster cluster(1);
    auto holder = this_process();
    holder.process_start = "1"; // the pid is used by somebody else now
    cluster.fakes[0]->add_container(
        "dockdist-vision-lock",
        {.labels = {{labels::cluster, "vision"}, {labels::role, "lock"}, {labels::holder, to_label(holder)}}},
        ContainerState::created);
    CHECK(cluster.up().errors.empty());
    CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-node-0"});
}

TEST_CASE(
    "an older lock whose holder was killed when all was up goes with the next up, one that is held stays") {
    for (const bool held : {false, true}) {
        FakeCluster cluster(2);
        cluster.up();
        auto holder = this_process();
        holder.process_start = held ? holder.process_start : "1";
        cluster.fakes[0]->add_container("dockdist-vision-lock",
                                        {.labels = {{labels::cluster, "vision"},
                                                    {labels::role, "lock"},
                                                    {labels::holder, to_label(holder)}}},
                                        ContainerState::created);
        const auto result = cluster.up("a2");
        CHECK(result.errors.empty());
        CHECK_FALSE(result.changed);
        CHECK(cluster.containers().size() == (held ? 3 : 2));
    }
}

TEST_CASE(
    "a lock that is held is told and stays, a stale one is taken, and each is broken with --break-lock") {
    struct Case {
        bool held, broken;
    };
    for (const auto& [held, broken] : {Case{true, false}, Case{true, true}, Case{false, false}}) {
        CAPTURE(held);
        CAPTURE(broken);
        FakeCluster cluster(1);
        auto holder = this_process();
        holder.process_start = held ? holder.process_start : "1";
        auto& engine = *cluster.fakes[0];
        engine.volumes["dockdist-vision-lock"] = {.name = "dockdist-vision-lock",
                                                  .labels = {{labels::cluster, "vision"},
                                                             {labels::role, "lock"},
                                                             {labels::attempt, "a0"},
                                                             {labels::holder, to_label(holder)}}};
        cluster.options.break_lock = broken;
        const auto result = cluster.up();
        if (held && !broken) {
            REQUIRE(result.errors.size() == 1);
            CHECK(result.errors[0].kind == ErrorKind::locked);
            CHECK(result.errors[0].message.find(holder.user + "@" + holder.machine) != std::string::npos);
            CHECK(engine.volumes.at("dockdist-vision-lock").labels.at(labels::attempt) == "a0");
            CHECK(cluster.containers().empty());
        } else {
            CHECK(result.errors.empty());
            CHECK(engine.volumes.count("dockdist-vision-lock") == 0);
            CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-node-0"});
        }
    }
}

} // namespace up_lock_test
