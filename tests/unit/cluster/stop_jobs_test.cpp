// Nobody's work ends unasked: `up` and `down` where jobs run.
#include "client/cluster/down.hpp"
#include "fake_cluster.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace stop_jobs_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

std::string running(const std::string& job, std::vector<wire::GpuUnit> units, bool runs = true) {
    return nlohmann::json(wire::JobSummary{.job = job,
                                           .running = runs,
                                           .duration_ms = 720000,
                                           .owner = "ada@desk",
                                           .units = std::move(units)})
               .dump() +
           "\n";
}

// A job with GPU 0 and 1 of the first node and GPU 3 of the second; the second one knows of one that is over,
// too.
void run_a_job(FakeCluster& cluster) {
    cluster.fakes[0]->on_exec("job list", running("train", {{.id = "GPU-a", .index = 0, .name = "H100"},
                                                            {.id = "GPU-b", .index = 1, .name = "H100"}}));
    cluster.fakes[1]->on_exec("job list",
                              running("over", {}, false) + running("train", {{.id = "GPU-c", .index = 3}}));
    for (auto* engine : cluster.fakes) {
        engine->on_exec("job stop",
                        wire::encode({.kind = wire::Frame::Kind::control,
                                      .payload = wire::job_event({.type = wire::JobEvent::Type::exited})}));
    }
}

// The execs whose command line has `word`.
std::vector<std::string> execs_of(const FakeCluster& cluster, const std::string& word) {
    std::vector<std::string> calls;
    for (const auto* engine : cluster.fakes) {
        std::ranges::copy_if(engine->calls, std::back_inserter(calls), [&](const std::string& call) {
            return call.starts_with("create_exec") && call.find(word) != std::string::npos;
        });
    }
    return calls;
}

DownResult take_down(FakeCluster& cluster, DownOptions options = {}) {
    return run_task(cluster.io, down(cluster.spec, cluster.engines, options, cluster.reporter));
}

const std::vector<std::string> both{"0:dockdist-vision-node-0", "1:dockdist-vision-node-1"};

} // namespace

TEST_CASE("down names the jobs that run, whose, since when and on which GPUs, and removes nothing") {
    FakeCluster cluster(2);
    cluster.up();
    run_a_job(cluster);
    const auto result = take_down(cluster);
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].kind == ErrorKind::conflict);
    CHECK(to_text(result.errors[0]) == "train: ada@desk's, running for 12 min on node-0 (GPU 0, 1), "
                                       "node-1 (GPU 3): `down` would end it\n"
                                       "  wait until it is over (`dockdist wait train`), or add --stop-jobs");
    CHECK(result.removed == 0);
    CHECK(cluster.containers() == both);
}

TEST_CASE("down --stop-jobs ends jobs in good order on each node of theirs, then removes the nodes") {
    FakeCluster cluster(2);
    cluster.up();
    run_a_job(cluster);
    cluster.log.clear();
    const auto result = take_down(cluster, {.stop_jobs = true});
    CHECK(result.errors.empty());
    CHECK(cluster.containers().empty());
    CHECK(execs_of(cluster, "job stop").size() == 2);
    const auto place = [&](const std::string& word) {
        return std::ranges::find_if(cluster.log,
                                    [&](const auto& call) { return call.find(word) != std::string::npos; });
    };
    CHECK(place("job stop") < place("remove_container"));
}

TEST_CASE("down of a cluster without running jobs costs three execs a node, and none where nothing runs") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[1]->end_container("dockdist-vision-node-1", 1);
    for (auto* engine : cluster.fakes) {
        engine->calls.clear();
    }
    CHECK(take_down(cluster).removed == 2);
    CHECK(execs_of(cluster, "") ==
          std::vector<std::string>{
              "create_exec dockdist-vision-node-0: /opt/dockdist/bin/dockdist-init job list",
              "create_exec dockdist-vision-node-0: /opt/dockdist/bin/dockdist-init job kept",
              "create_exec dockdist-vision-node-0: /opt/dockdist/bin/dockdist-init members"});
}

TEST_CASE("what a node says that cannot say whether jobs run") {
    FakeCluster cluster(2);
    cluster.up();
    auto& engine = *cluster.fakes[1];
    SUBCASE("nothing, and its engine says why") {
        engine.fail("create_exec", {ErrorKind::engine, "", "denied", "ask its administrator"}, -1);
        CHECK(take_down(cluster).errors.at(0).hint ==
              "ask its administrator; or add --stop-jobs, which goes on without knowing");
        CHECK(take_down(cluster, {.stop_jobs = true}).errors.empty());
    }
    SUBCASE("nothing, in time: there may be work on it") {
        engine.fail("create_exec", {ErrorKind::timeout, "", "no answer for 30 s", ""}, -1);
        const auto result = take_down(cluster);
        REQUIRE(result.errors.size() == 1);
        CHECK(to_text(result.errors[0]) ==
              "node-1: it is not known whether jobs run there: no answer for 30 s\n"
              "  try again; or add --stop-jobs, which goes on without knowing");
        CHECK(cluster.containers() == both);
        CHECK(take_down(cluster, {.stop_jobs = true}).errors.empty());
    }
    SUBCASE("that it is paused") {
        engine.container("dockdist-vision-node-1").state = ContainerState::paused;
        const auto result = take_down(cluster);
        REQUIRE(result.errors.size() == 1);
        CHECK(result.errors[0].message == "it is not known whether jobs run there: its container is paused");
        CHECK(cluster.containers() == both);
        CHECK(take_down(cluster, {.stop_jobs = true}).errors.empty());
    }
    SUBCASE("that it may start no more processes: those it has may be work") {
        engine.on_exec("job list", "fork/exec: resource temporarily unavailable", 126);
        CHECK(take_down(cluster).errors.size() == 1);
        CHECK(cluster.containers() == both);
        CHECK(take_down(cluster, {.stop_jobs = true}).errors.empty());
    }
    SUBCASE("that it has no dockdist-init: nor has it jobs") {
        engine.on_exec("job list", "stat /opt/dockdist/bin/dockdist-init: no such file or directory", 126);
        CHECK(take_down(cluster).errors.empty());
    }
    SUBCASE("that another `down` removes while it is asked: its engine knows") {
        engine.fail("inspect_exec", {ErrorKind::node, "", "no container with ID c1", ""});
        engine.on_call = [&](const std::string& call) {
            if (call.starts_with("inspect_exec")) {
                engine.containers.erase("dockdist-vision-node-1");
            }
        };
        CHECK(take_down(cluster).errors.empty());
    }
    CHECK(cluster.containers().empty());
}

TEST_CASE("a host that is silent keeps its nodes, and the others' are removed where no job runs") {
    FakeCluster cluster(2);
    cluster.up();
    cluster.fakes[0]->fail("list_containers", {ErrorKind::timeout, "", "no answer", ""}, -1);
    const auto result = take_down(cluster);
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "node-0 (tcp://10.0.0.1)");
    CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-node-0"});
}

TEST_CASE("up that would make a node anew under a job names it, and changes nothing") {
    FakeCluster cluster(2);
    cluster.up();
    run_a_job(cluster);
    cluster.spec.hosts[1].env["NVIDIA_A"] = "1";
    const auto refused = cluster.up("a2");
    REQUIRE(refused.errors.size() == 1);
    CHECK(to_text(refused.errors[0]) ==
          "train: ada@desk's, running for 12 min on node-0 (GPU 0, 1), node-1 (GPU 3): node-1 would be "
          "recreated: `env.NVIDIA_A` changed\n"
          "  wait until it is over (`dockdist wait train`), or add --stop-jobs");
    CHECK(refused.jobs_in_way);
    CHECK(execs_of(cluster, "job stop").empty());
    CHECK(cluster.containers() == both);

    cluster.options.stop_jobs = true;
    CHECK(cluster.up("a3").errors.empty());
    CHECK(execs_of(cluster, "job stop").size() == 2); // the job's other node, too
    CHECK(cluster.containers() == both);
}

TEST_CASE("up asks for jobs where running nodes go, and there alone") {
    FakeCluster cluster(2);
    cluster.up();
    CHECK(cluster.up("a2").errors.empty());
    CHECK(execs_of(cluster, "job list").empty()); // nothing changes
    cluster.fakes[1]->end_container("dockdist-vision-node-1", 1);
    CHECK(cluster.up("a3").errors.empty());
    CHECK(execs_of(cluster, "job list").empty()); // it is started again
    cluster.spec.hosts[1].env["NVIDIA_A"] = "1";
    CHECK(cluster.up("a4").errors.empty());
    CHECK(execs_of(cluster, "job list").size() == 2); // a job's other nodes are named
}

} // namespace stop_jobs_test
