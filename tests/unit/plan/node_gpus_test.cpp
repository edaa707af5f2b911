// `gpus: N`: which GPUs a node gets, and what is said where there are none.
#include "client/plan/node_gpus.hpp"
#include "cluster_builder.hpp"

#include <doctest/doctest.h>

namespace node_gpus_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

// Two NVLink pairs, 0-1 and 2-3, on two sockets.
constexpr const char* two_pairs = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
                                  "GPU0\t X \tNV4\tSYS\tSYS\t0-23\t0\t\tN/A\n"
                                  "GPU1\tNV4\t X \tSYS\tSYS\t0-23\t0\t\tN/A\n"
                                  "GPU2\tSYS\tSYS\t X \tNV4\t24-47\t1\t\tN/A\n"
                                  "GPU3\tSYS\tSYS\tNV4\t X \t24-47\t1\t\tN/A\n";

std::string uuid(int index) {
    return "GPU-" + std::to_string(index);
}

wire::GpuReport four_gpus() {
    wire::GpuReport report{.topology = two_pairs};
    for (int i = 0; i < 4; ++i) {
        report.units.push_back({.unit = {.id = uuid(i), .index = i, .name = "H100"}});
    }
    return report;
}

Neighbour neighbour(std::vector<std::string> gpus, std::string cluster = "speech") {
    return {.cluster = std::move(cluster), .node = "node-0", .owner = "ada@desk", .gpus = std::move(gpus)};
}

ClusterSpec wants(int count, int hosts = 1) {
    auto spec = spec_of(hosts);
    for (auto& host : spec.hosts) {
        host.gpus = {.kind = GpuSpec::Kind::count, .count = count};
    }
    return spec;
}

// Hosts of four GPUs each, with UUIDs of their own, that were looked at.
ObservedCluster looked_at(const ClusterSpec& spec) {
    auto observed = fresh(spec);
    for (auto& host : observed.hosts) {
        host.gpus = four_gpus();
    }
    return observed;
}

std::string first_line(const ClusterSpec& spec, const ObservedCluster& observed) {
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.empty());
    const auto text = to_text(result.plan, spec);
    return text.substr(0, text.find('\n'));
}

std::string error_of(const ClusterSpec& spec, const ObservedCluster& observed) {
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.errors.size() == 1);
    return to_text(result.errors[0]);
}

std::vector<std::string> devices_of(const CreateNode& create) {
    return create.config.device_requests.at(0).device_ids;
}

// `observed` after the plan for it was carried out.
ObservedCluster with_nodes(const ClusterSpec& spec, ObservedCluster observed) {
    const auto plan = make_plan(spec, observed, context()).plan;
    for (const auto& create : plan.creates) {
        observed.hosts[create.host].nodes.push_back(made(create, ContainerState::exited));
    }
    return observed;
}

} // namespace

TEST_CASE("the GPUs that others leave, near each other, by UUID, with the reason") {
    const auto spec = wants(2);
    auto observed = looked_at(spec);
    CHECK(first_line(spec, observed) ==
          "node-0  create container dockdist-vision-node-0 (train:1, GPU 0, 1: NVLink)  # not there");
    observed.hosts[0].neighbours = {neighbour({uuid(1)})};
    CHECK(first_line(spec, observed) ==
          "node-0  create container dockdist-vision-node-0 (train:1, GPU 2, 3: NVLink)  # not there");
    const auto plan = make_plan(spec, observed, context()).plan;
    CHECK(devices_of(plan.creates.at(0)) == std::vector<std::string>{"GPU-2", "GPU-3"});
    CHECK(plan.creates[0].config.device_requests[0].count == 0);
    CHECK(plan.creates[0].config.labels.at("dockdist.gpus") == "GPU-2,GPU-3");
    CHECK(plan.creates[0].without_rdma->labels == plan.creates[0].config.labels);
    CHECK(plan.creates[0].without_rdma->device_requests == plan.creates[0].config.device_requests);
}

TEST_CASE("what a neighbour has is known by UUID, index and CDI name; all and none are nobody's") {
    const auto spec = wants(1);
    auto observed = looked_at(spec);
    for (const auto* name : {"GPU-0", "0", "nvidia.com/gpu=0", "nvidia.com/gpu=GPU-0"}) {
        CAPTURE(name);
        observed.hosts[0].neighbours = {neighbour({name})};
        CHECK(devices_of(make_plan(spec, observed, context()).plan.creates.at(0)) ==
              std::vector<std::string>{"GPU-1"});
    }
    CHECK(gpus_of_label("all").empty());
    CHECK(gpus_of_label("none").empty());
    CHECK(gpus_of_label("GPU-1,GPU-2") == std::vector<std::string>{"GPU-1", "GPU-2"});
}

TEST_CASE("what an old node asked its engine for is what it has: of a count the first ones") {
    CHECK(gpus_of_requests({{.count = 2}}) == std::vector<std::string>{"0", "1"});
    CHECK(gpus_of_requests({{.count = -1}}).empty());
    CHECK(gpus_of_requests({{.driver = "cdi", .device_ids = {"nvidia.com/gpu=all"}}}).empty());
    CHECK(gpus_of_requests({{.device_ids = {"1", "GPU-7"}}}) == std::vector<std::string>{"1", "GPU-7"});
}

TEST_CASE("all are taken: the error says by whom, and how many were free") {
    const auto spec = wants(2);
    auto observed = looked_at(spec);
    observed.hosts[0].neighbours = {neighbour({uuid(0), uuid(1)}), neighbour({"3"}, "nlp")};
    CHECK(
        error_of(spec, observed) ==
        "node-0 (tcp://10.0.0.1:2375): 2 GPUs are asked for, and 1 of 4 is free: GPU 3 is nlp's (ada@desk), "
        "GPU 0, 1 are speech's (ada@desk)\n"
        "  wait until one of these clusters is down, or ask for fewer; clusters with `gpus: all` share a "
        "host's GPUs job by job");
    CHECK(make_plan(spec, observed, context()).errors[0].kind == ErrorKind::conflict);
}

TEST_CASE("more than the host has, ill ones left out, is the file's mistake") {
    auto spec = wants(5);
    auto observed = looked_at(spec);
    CHECK(error_of(spec, observed) ==
          "node-0 (tcp://10.0.0.1:2375): 5 GPUs are asked for, and the host has 4\n  ask for fewer");
    spec = wants(4);
    observed.hosts[0].gpus->units[2].problem = "GPU 2 has 3 uncorrected memory errors";
    CHECK(error_of(spec, observed) ==
          "node-0 (tcp://10.0.0.1:2375): 4 GPUs are asked for, and the host has 4; "
          "GPU 2 has 3 uncorrected memory errors\n  ask for fewer");
    CHECK(make_plan(spec, observed, context()).errors[0].kind == ErrorKind::config);
}

TEST_CASE("a host whose GPUs cannot be told names the way out") {
    const auto spec = wants(1);
    auto observed = looked_at(spec);
    observed.hosts[0].gpus = wire::GpuReport{.problem = "the image has no nvidia-smi"};
    CHECK(error_of(spec, observed) ==
          "node-0 (tcp://10.0.0.1:2375): the host's GPUs are not known: the image has no nvidia-smi\n"
          "  does nvidia-smi work on that host? Else name them: `gpus: [0, 1]`");
}

TEST_CASE("GPUs that somebody uses now are chosen last, and told") {
    const auto spec = wants(2);
    auto observed = looked_at(spec);
    observed.hosts[0].gpus->units[0].hold = wire::GpuHold{.outside = true};
    CHECK(first_line(spec, observed).find("GPU 2, 3: NVLink") != std::string::npos);
    observed.hosts[0].neighbours = {neighbour({"2", "3"})};
    CHECK(first_line(spec, observed).find("GPU 0, 1: NVLink; GPU 0 in use now") != std::string::npos);
}

TEST_CASE("nodes of one host, and of one cluster, never get the same GPU") {
    auto spec = wants(4);
    spec.hosts[0].nodes = 2;
    const auto plan = make_plan(spec, looked_at(spec), context()).plan;
    CHECK(devices_of(plan.creates.at(0)) == std::vector<std::string>{"GPU-0", "GPU-1"});
    CHECK(devices_of(plan.creates.at(1)) == std::vector<std::string>{"GPU-2", "GPU-3"});
}

TEST_CASE("MIG instances are GPUs of their own") {
    const auto spec = wants(2);
    auto observed = looked_at(spec);
    auto& units = observed.hosts[0].gpus->units;
    units = {{.unit = {.id = "MIG-a", .index = 0}},
             {.unit = {.id = "MIG-b", .index = 0}},
             {.unit = {.id = "GPU-1", .index = 1}}};
    observed.hosts[0].neighbours = {neighbour({"MIG-a"})};
    const auto plan = make_plan(spec, observed, context()).plan;
    CHECK(devices_of(plan.creates.at(0)) == std::vector<std::string>{"MIG-b", "GPU-1"});
}

TEST_CASE(
    "a node that stands keeps its GPUs, whatever has become free, and a new configuration keeps them, too") {
    auto spec = wants(2);
    auto observed = looked_at(spec);
    observed.hosts[0].neighbours = {neighbour({uuid(0)})};
    observed = with_nodes(spec, observed); // GPU 2 and 3
    observed.hosts[0].neighbours.clear();
    spec.hosts[0].env["NVIDIA_A"] = "1";
    const auto plan = make_plan(spec, observed, context()).plan;
    CHECK(devices_of(plan.creates.at(0)) == std::vector<std::string>{"GPU-2", "GPU-3"});
    CHECK(plan.creates[0].gpus == "GPU 2, 3: as before");
    spec = wants(1);
    CHECK(devices_of(make_plan(spec, observed, context()).plan.creates.at(0)).size() == 1); // another number
}

TEST_CASE("the fingerprint is the file's wish: what was chosen makes no node anew") {
    const auto spec = wants(2);
    auto observed = with_nodes(spec, looked_at(spec));
    observed.hosts[0].neighbours = {neighbour({"0"})};
    const auto plan = make_plan(spec, observed, context()).plan;
    CHECK(plan.removals.empty());
    CHECK(plan.starts.size() == 1);
}

TEST_CASE("a stopped node whose GPU is gone from the host is made anew") {
    const auto spec = wants(2);
    auto observed = with_nodes(spec, looked_at(spec));
    observed.hosts[0].gpus->units.erase(observed.hosts[0].gpus->units.begin());
    CHECK(first_line(spec, observed) == "node-0  replace container dockdist-vision-node-0 (train:1, GPU 2, "
                                        "3: NVLink)  # GPU-0 is gone from the host");
}

TEST_CASE("a look is asked for where it decides something, and where one is possible") {
    const auto looks = [](const ClusterSpec& spec, const ObservedCluster& observed) {
        return make_plan(spec, observed, context()).wanted.looks;
    };
    auto spec = wants(1, 2);
    auto observed = fresh(spec);
    CHECK(looks(spec, observed) == std::vector<std::size_t>{0, 1});
    CHECK(first_line(spec, observed).find("(train:1, 1 GPU)") != std::string::npos); // not known yet
    CHECK(looks(spec, looked_at(spec)).empty());
    observed.hosts[0].image.reset();
    CHECK(looks(spec, observed) == std::vector<std::size_t>{1});
    spec.hosts[1].gpus = {.kind = GpuSpec::Kind::all};
    CHECK(looks(spec, observed).empty());
    spec.hosts[1].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"0"}};
    CHECK(looks(spec, observed).empty());
    // A node that is to be started may have lost one; one that runs has what it has.
    spec = wants(1);
    observed = with_nodes(spec, looked_at(spec));
    observed.hosts[0].gpus.reset();
    CHECK(looks(spec, observed) == std::vector<std::size_t>{0});
    observed.hosts[0].nodes[0].state = ContainerState::running;
    CHECK(looks(spec, observed).empty());
}

TEST_CASE("every node bears a label of its GPUs") {
    auto spec = spec_of(1);
    const auto label = [&] {
        return make_plan(spec, fresh(spec), context()).plan.creates.at(0).config.labels.at("dockdist.gpus");
    };
    CHECK(label() == "all");
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::none};
    CHECK(label() == "none");
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"0", "GPU-7"}};
    CHECK(label() == "0,GPU-7");
}

TEST_CASE("a CDI engine is told the UUID's name, or the index's where it knows that one alone") {
    auto report = four_gpus();
    EngineInfo engine;
    CHECK(cdi_name_of("GPU-1", report, engine) == "nvidia.com/gpu=GPU-1");
    engine.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=all"};
    CHECK(cdi_name_of("GPU-1", report, engine) == "nvidia.com/gpu=1");
    engine.cdi_devices.emplace_back("nvidia.com/gpu=GPU-1");
    CHECK(cdi_name_of("GPU-1", report, engine) == "nvidia.com/gpu=GPU-1");
    CHECK(cdi_name_of("GPU-9", report, engine) == "nvidia.com/gpu=GPU-9");

    report.units[1].unit.id = "MIG-a";
    report.units[2].unit = {.id = "MIG-b", .index = 1};
    engine.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=1:0", "nvidia.com/gpu=1:1"};
    CHECK(cdi_name_of("MIG-a", report, engine) == "nvidia.com/gpu=1:0");
    CHECK(cdi_name_of("MIG-b", report, engine) == "nvidia.com/gpu=1:1");
}

TEST_CASE("GPUs are chosen by CDI names where the engine has no other way") {
    const auto spec = wants(2);
    auto observed = looked_at(spec);
    observed.hosts[0].engine = {
        .version = "5.4.2", .architecture = "amd64", .os_type = "linux", .podman = true};
    const auto plan = make_plan(spec, observed, context()).plan;
    REQUIRE(plan.creates.size() == 1);
    CHECK(plan.creates[0].config.device_requests ==
          std::vector<DeviceRequest>{
              {.driver = "cdi", .device_ids = {"nvidia.com/gpu=GPU-0", "nvidia.com/gpu=GPU-1"}}});
    CHECK(plan.creates[0].config.labels.at("dockdist.gpus") == "GPU-0,GPU-1");
}

} // namespace node_gpus_test
