// Hosts asked of their GPUs before there is a node: by what container, of what it is made, and what it
// leaves.
#include "client/observe/gpu_helper.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace gpu_helper_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

// A cluster that is not up, each of whose hosts answers a helper, and remembers of what that was made.
struct Asked : FakeCluster {
    explicit Asked(int hosts) : FakeCluster(hosts), made(static_cast<std::size_t>(hosts)) {
        for (std::size_t i = 0; i < fakes.size(); ++i) {
            auto& engine = *fakes[i];
            spec.hosts[i].gpus = {.kind = GpuSpec::Kind::all};
            engine.on_call = [this, i, &engine](const std::string& call) {
                if (call.starts_with("container_logs dockdist_gpu_look_")) {
                    const auto name = call.substr(call.find(' ') + 1);
                    auto& container = engine.container(name.substr(0, name.find(' ')));
                    made[i].push_back(container.config);
                    engine.append_log(container.name,
                                      wire::gpu_report_line({.units = {{.unit = {.id = "GPU-0"}}},
                                                             .problem = "nvidia-smi is not there"}));
                    engine.end_container(container.name, 0);
                }
            };
        }
    }

    std::vector<Result<wire::GpuReport>> ask(bool board_alone = false) {
        std::vector<std::size_t> hosts;
        for (std::size_t i = 0; i < fakes.size(); ++i) {
            hosts.push_back(i);
        }
        const auto seen = run_task(io, observe(spec, engines, toolkits.versions(), reporter));
        REQUIRE(seen.errors.empty());
        return run_task(io, ask_hosts(spec, engines, seen.cluster, hosts,
                                      {.toolkits = toolkits,
                                       .attempt = "a1",
                                       .origin = "ops@box:/cluster.yaml",
                                       .board_alone = board_alone}));
    }

    std::vector<std::vector<ContainerConfig>> made; // by host
};

void give_toolkit(FakeEngine& engine) {
    engine.volumes["dockdist-toolkit-t1"] = {.name = "dockdist-toolkit-t1"};
}

bool sees_board(const ContainerConfig& config) {
    return std::ranges::any_of(config.mounts, [](const Mount& mount) {
        return mount.source == labels::gpu_volume && mount.read_only;
    });
}

} // namespace

TEST_CASE("what is on the host already is looked with, and nothing is left there") {
    Asked cluster(1);
    auto& engine = *cluster.fakes[0];
    give_toolkit(engine);
    bool board = false;
    SUBCASE("nobody has had a job there") {}
    SUBCASE("there is a board") {
        board = true;
        engine.volumes[labels::gpu_volume] = {.name = labels::gpu_volume};
    }
    const auto reports = cluster.ask();
    REQUIRE(reports.at(0).has_value());
    CHECK(reports[0]->units.size() == 1);
    REQUIRE(cluster.made[0].size() == 1);
    const auto& config = cluster.made[0][0];
    CHECK(config.image.str() == "train:1");
    CHECK(config.mounts.at(0).source == "dockdist-toolkit-t1");
    CHECK(config.device_requests.size() == 1);
    CHECK(sees_board(config) == board);
    CHECK(config.labels.at(labels::role) == "look"); // an `up` or `down` removes what a killed client leaves
    CHECK(engine.containers.empty());
    CHECK(engine.volumes.size() == (board ? 2 : 1));
}

TEST_CASE("a host without the image is looked at with that of another cluster's node") {
    Asked cluster(1);
    auto& engine = *cluster.fakes[0];
    engine.images.clear();
    engine.add_image("speech:2", "sha256:5eec");
    engine.add_container(
        "dockdist-speech-node-0",
        {.image = ImageRef("speech:2"),
         .labels = {{labels::cluster, "speech"}, {labels::role, "node"}, {labels::version, "t0"}}});
    REQUIRE(cluster.ask().at(0).has_value());
    CHECK(cluster.made[0].at(0).image.str() == "sha256:5eec");
    CHECK(cluster.made[0].at(0).mounts.at(0).source == "dockdist-toolkit-t0");
    CHECK(engine.containers.size() == 1);
}

TEST_CASE("on an engine of Docker's snap it may gain privileges, as nothing starts there without") {
    Asked cluster(2);
    for (auto* engine : cluster.fakes) {
        give_toolkit(*engine);
    }
    cluster.fakes[1]->engine_info.root_dir = "/var/snap/docker/common/var-lib-docker";
    CHECK(cluster.ask().at(1).has_value());
    CHECK(cluster.made.at(0).at(0).no_new_privileges);
    CHECK_FALSE(cluster.made.at(1).at(0).no_new_privileges);
}

TEST_CASE("a host with nothing to look with says so, and nothing is brought there") {
    Asked cluster(2);
    give_toolkit(*cluster.fakes[1]);
    const auto reports = cluster.ask();
    REQUIRE_FALSE(reports.at(0).has_value());
    CHECK(reports[0].error().kind == ErrorKind::not_found);
    CHECK(reports[0].error().hint == "`dockdist up` brings the image and the toolkit");
    CHECK(reports.at(1).has_value());
    CHECK(cluster.fakes[0]->writing_calls().empty());
}

TEST_CASE("an engine that gives no GPUs still tells who has what") {
    Asked cluster(1);
    auto& engine = *cluster.fakes[0];
    give_toolkit(engine);
    engine.fail("start_container dockdist_gpu_look_",
                {ErrorKind::engine, "", "could not select device driver", "install it"});
    const auto reports = cluster.ask();
    REQUIRE(reports.at(0).has_value());
    CHECK(reports[0]->problem == "its GPUs are not known: could not select device driver; install it");
    REQUIRE(cluster.made[0].size() == 1);
    CHECK(cluster.made[0][0].device_requests.empty());
    CHECK(engine.containers.empty());
}

TEST_CASE("who asks for no GPUs is told of the board alone") {
    Asked cluster(1);
    give_toolkit(*cluster.fakes[0]);
    bool board_alone = true;
    SUBCASE("by the command") {}
    SUBCASE("by the file") {
        board_alone = false;
        cluster.spec.hosts[0].gpus = {.kind = GpuSpec::Kind::none};
    }
    const auto reports = cluster.ask(board_alone);
    REQUIRE(reports.at(0).has_value());
    CHECK(reports[0]->problem.empty());
    CHECK(cluster.made[0].at(0).device_requests.empty());
}

} // namespace gpu_helper_test
