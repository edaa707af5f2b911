// `gpus: N` at `up`: the container that looks, and what it is a lock for.
#include "client/cluster/gpu_survey.hpp"
#include "client/cluster/lock.hpp"
#include "client/cluster/plan_changes.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace gpu_look_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

wire::GpuReport gpus_of(int host, int count) {
    wire::GpuReport report{.driver = "550.54"};
    for (int i = 0; i < count; ++i) {
        report.units.push_back({.unit = {.id = "GPU-" + std::to_string(host) + "-" + std::to_string(i),
                                         .index = i,
                                         .name = "H100"}});
    }
    return report;
}

// Each host has that many GPUs, and a look at them says so.
void give_gpus(FakeCluster& cluster, int count, int wanted) {
    for (std::size_t i = 0; i < cluster.fakes.size(); ++i) {
        auto& engine = *cluster.fakes[i];
        cluster.spec.hosts[i].gpus = {.kind = GpuSpec::Kind::count, .count = wanted};
        engine.on_call = [&engine,
                          line = gpu_report_line(gpus_of(static_cast<int>(i), count))](const auto& call) {
            if (call.starts_with("container_logs dockdist_gpu_look")) {
                engine.append_log(gpu_look, line);
                engine.end_container(gpu_look, 0);
            }
        };
    }
}

FakeEngine::Container& add_neighbour(FakeEngine& engine, Labels more,
                                     std::vector<DeviceRequest> requests = {}) {
    more.insert({{labels::cluster, "speech"},
                 {labels::role, "node"},
                 {labels::node, "node-0"},
                 {labels::origin, "ada@desk:/speech/cluster.yaml"}});
    return engine.add_container("dockdist-speech-node-0",
                                {.labels = std::move(more), .device_requests = std::move(requests)});
}

std::string label_of(FakeCluster& cluster, std::size_t host) {
    auto& node = cluster.fakes[host]->container("dockdist-vision-node-" + std::to_string(host));
    return node.config.labels.at(labels::gpus);
}

void add_look(FakeEngine& engine, const LockHolder& holder) {
    engine.add_container(gpu_look,
                         {.labels = {{labels::cluster, "speech"},
                                     {labels::role, "look"},
                                     {labels::attempt, "b1"},
                                     {labels::holder, to_label(holder)}}},
                         ContainerState::created);
}

bool was_called(const FakeEngine& engine, const std::string& call) {
    return std::ranges::any_of(engine.calls, [&](const auto& one) { return one.starts_with(call); });
}

const std::vector<std::string> two_nodes{"0:dockdist-vision-node-0", "1:dockdist-vision-node-1"};

} // namespace

TEST_CASE("up looks once a host, chooses, and leaves no look behind") {
    FakeCluster cluster(2);
    give_gpus(cluster, 4, 2);
    CHECK(cluster.up().errors.empty());
    CHECK(cluster.containers() == two_nodes);
    CHECK(label_of(cluster, 0) == "GPU-0-0,GPU-0-1");
    CHECK(label_of(cluster, 1) == "GPU-1-0,GPU-1-1");
    const auto& calls = cluster.fakes[1]->calls;
    const auto place = [&](const std::string& call) {
        return std::ranges::find(calls, call) - calls.begin();
    };
    CHECK(place("create_container dockdist-vision-node-1") < place("remove_container dockdist_gpu_look"));
    for (auto* engine : cluster.fakes) {
        engine->calls.clear();
    }
    CHECK_FALSE(cluster.up("a2").changed);
    CHECK_FALSE(was_called(*cluster.fakes[0], "create_container"));
}

TEST_CASE("a cluster that needs no choice makes no look") {
    FakeCluster cluster(1);
    cluster.spec.hosts[0].gpus = {.kind = GpuSpec::Kind::all};
    CHECK(cluster.up().errors.empty());
    CHECK_FALSE(was_called(*cluster.fakes[0], "create_container dockdist_gpu_look"));
}

TEST_CASE(
    "what other clusters hold is left to them, running or not, whether by label or made by an old dockdist") {
    FakeCluster cluster(1);
    give_gpus(cluster, 4, 2);
    auto& engine = *cluster.fakes[0];
    SUBCASE("by label") {
        add_neighbour(engine, {{labels::gpus, "GPU-0-0,GPU-0-1"}});
    }
    SUBCASE("stopped") {
        add_neighbour(engine, {{labels::gpus, "GPU-0-1,GPU-0-0"}}).state = ContainerState::exited;
    }
    SUBCASE("by its request of an engine that gives the first ones") {
        add_neighbour(engine, {}, {{.count = 2}});
    }
    CHECK(cluster.up().errors.empty());
    CHECK(label_of(cluster, 0) == "GPU-0-2,GPU-0-3");
}

TEST_CASE("all taken: an error that says by whom, and nothing is left") {
    FakeCluster cluster(2);
    give_gpus(cluster, 2, 2);
    add_neighbour(*cluster.fakes[1], {{labels::gpus, "GPU-1-0"}});
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "node-1 (tcp://10.0.0.2)");
    CHECK(result.errors[0].message ==
          "2 GPUs are asked for, and 1 of 2 is free: GPU 0 is speech's (ada@desk)");
    CHECK(cluster.containers() == std::vector<std::string>{"1:dockdist-speech-node-0"});
}

TEST_CASE("a look that fails takes back what up made, and says what was said") {
    FakeCluster cluster(2);
    give_gpus(cluster, 2, 1);
    auto& engine = *cluster.fakes[1];
    std::string message;
    SUBCASE("the engine knows no GPUs") {
        engine.fail("start_container dockdist_gpu_look",
                    {ErrorKind::engine, "", "could not select device driver", "install"});
        message = "could not select device driver";
    }
    SUBCASE("nothing is said") {
        engine.on_call = [&engine](const auto& call) {
            if (call.starts_with("container_logs dockdist_gpu_look")) {
                engine.end_container(gpu_look, 1);
            }
        };
        message = "the host's GPUs are not known";
    }
    const auto result = cluster.up();
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].where == "node-1 (tcp://10.0.0.2)");
    CHECK(result.errors[0].message.find(message) != std::string::npos);
    CHECK(cluster.containers().empty());
}

TEST_CASE("while somebody else chooses on one host none is held, and it goes on when that one is done") {
    FakeCluster cluster(2);
    give_gpus(cluster, 2, 1);
    auto& engine = *cluster.fakes[1];
    add_look(engine, this_process());
    int tries = 0;
    cluster.fakes[0]->on_call = [&, play = cluster.fakes[0]->on_call](const std::string& call) {
        if (call == "create_container dockdist_gpu_look" && ++tries == 3) {
            engine.containers.erase(gpu_look);
        }
        play(call);
    };
    CHECK(cluster.up().errors.empty());
    CHECK(tries == 3);
    CHECK(cluster.containers() == two_nodes);
}

TEST_CASE("a look whose client is gone is taken over") {
    FakeCluster cluster(1);
    give_gpus(cluster, 2, 1);
    auto holder = this_process();
    holder.process_start = "1";
    add_look(*cluster.fakes[0], holder);
    CHECK(cluster.up().errors.empty());
    CHECK(cluster.containers() == std::vector<std::string>{"0:dockdist-vision-node-0"});
}

TEST_CASE("who chooses for longer than anybody waits is named") {
    FakeCluster cluster(1);
    give_gpus(cluster, 2, 1);
    const auto holder = this_process();
    add_look(*cluster.fakes[0], holder);
    ObservedCluster observed{.hosts = std::vector<ObservedHost>(1)};
    GpuSurvey look(cluster.spec, cluster.engines,
                   {.toolkits = Toolkits({{.architecture = "amd64", .version = "t1"}}),
                    .attempt = "a1",
                    .patience = std::chrono::milliseconds(0)});
    const auto errors = run_task(cluster.io, look.take(observed, {0}, cluster.reporter));
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].kind == ErrorKind::locked);
    CHECK(errors[0].message.starts_with(holder.user + "@" + holder.machine +
                                        " for cluster speech has been choosing GPUs there for "));
}

TEST_CASE("plan shows the choice, and what it looked with is gone") {
    FakeCluster cluster(1);
    give_gpus(cluster, 2, 1);
    cluster.fakes[0]->volumes["dockdist-toolkit-t1"] = {.name = "dockdist-toolkit-t1"};
    auto observation = run_task(cluster.io, observe(cluster.spec, cluster.engines, {"t1"}, cluster.reporter));
    const auto planned = run_task(
        cluster.io,
        plan_with_look(cluster.spec, cluster.engines, observation.cluster,
                       {.toolkits = Toolkits({{.architecture = "amd64", .version = "t1"}}), .attempt = "a1"},
                       cluster.reporter));
    REQUIRE(planned.plan.creates.size() == 1);
    CHECK(planned.plan.creates[0].gpus == "GPU 0");
    CHECK(cluster.containers().empty());
}

TEST_CASE("the look is as narrow as a container can be, and sees all GPUs") {
    const auto config = gpu_look_config({.ref = ImageRef("train:1")}, "t1", HelperGpus::by_hook, 1024);
    CHECK(config.command == std::vector<std::string>{"gpus", "--in-use", "1024"});
    CHECK(config.device_requests == std::vector<DeviceRequest>{{.count = -1}});
    CHECK(config.network_mode == "none");
    CHECK(config.cap_drop == std::vector<std::string>{"ALL"});
    CHECK(config.read_only_root);
    CHECK(config.mounts.at(0).read_only);
    CHECK(gpu_look_config({.ref = ImageRef("train:1")}, "t1", HelperGpus::by_cdi, 0).device_requests ==
          std::vector<DeviceRequest>{{.driver = "cdi", .device_ids = {"nvidia.com/gpu=all"}}});
}

} // namespace gpu_look_test
