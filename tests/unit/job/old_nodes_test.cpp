// Nodes of an earlier dockdist on the same host: what runs in them is seen, not overrun.
#include "client/job/old_nodes.hpp"
#include "fake_job.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace old_nodes_test {

using namespace dockdist;

namespace {

constexpr const char* two_gpus = "0, GPU-a, H100, 4096, 81559, 90, 40, 300.0, 550.54, Disabled, 0\n"
                                 "1, GPU-b, H100, 1, 81559, 0, 30, 70.0, 550.54, Disabled, 0\n";

std::string job(const std::string& name, bool running) {
    wire::JobSummary summary{.job = name, .running = running, .duration_ms = 60000};
    auto json = nlohmann::json(summary);
    json.erase("owner"); // an earlier one tells neither
    json.erase("units");
    return json.dump() + "\n";
}

Neighbour old_node(FakeEngine& engine, ContainerState state = ContainerState::running) {
    const auto& container = engine.add_container("dockdist-speech-node-0", {}, state);
    return {.id = container.id,
            .cluster = "speech",
            .node = "node-0",
            .owner = "ada@desk",
            .state = state,
            .old = true};
}

} // namespace

TEST_CASE("while a job runs in an old node its GPUs are that job's, by the UUIDs that it sees") {
    FakeJob cluster(2);
    ObservedCluster observed{.hosts = std::vector<ObservedHost>(cluster.engines.size())};
    auto& engine = *cluster.fakes[1];
    observed.hosts[1].neighbours = {old_node(engine)};
    engine.on_exec("job list", job("over", false) + job("train", true));
    engine.on_exec("nvidia-smi", two_gpus);
    const auto holds = run_task(cluster.io, held_in_old_nodes(cluster.engines, observed));
    REQUIRE(holds.size() == cluster.engines.size());
    CHECK(holds[0].empty());
    REQUIRE(holds[1].size() == 2);
    CHECK(
        holds[1][1] ==
        wire::GpuHold{
            .unit = {.id = "GPU-b", .index = 1, .name = "H100"},
            .by = {.cluster = "speech", .node = "node-0", .job = "train", .owner = "ada@desk", .age_s = 60}});

    engine.on_exec("job list", job("train", false));
    CHECK(run_task(cluster.io, held_in_old_nodes(cluster.engines, observed))[1].empty());
}

TEST_CASE(
    "nodes that know the board, that do not run, or that do not answer hold nothing, and cost nothing") {
    FakeJob cluster(2);
    ObservedCluster observed{.hosts = std::vector<ObservedHost>(cluster.engines.size())};
    auto& engine = *cluster.fakes[0];
    auto node = old_node(engine, ContainerState::exited);
    observed.hosts[0].neighbours = {node};
    node.state = ContainerState::running;
    node.old = false;
    observed.hosts[0].neighbours.push_back(node);
    CHECK(run_task(cluster.io, held_in_old_nodes(cluster.engines, observed))[0].empty());
    CHECK(
        std::ranges::none_of(engine.calls, [](const auto& call) { return call.starts_with("create_exec"); }));
    node.old = true;
    observed.hosts[0].neighbours = {node};
    engine.fail("create_exec", {ErrorKind::timeout, "", "no answer", ""}, -1);
    CHECK(run_task(cluster.io, held_in_old_nodes(cluster.engines, observed))[0].empty());
}

} // namespace old_nodes_test
