#include "client/plan/engine_abilities.hpp"
#include "cluster_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace engine_abilities_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

EngineInfo docker(std::string version, ApiVersion api) {
    return {.api = api, .version = std::move(version), .architecture = "x86_64", .os_type = "linux"};
}

EngineInfo podman(std::string version) {
    return {.api = {1, 41},
            .version = std::move(version),
            .architecture = "amd64",
            .os_type = "linux",
            .podman = true};
}

ClusterSpec without_gpus(int hosts) {
    auto spec = spec_of(hosts);
    for (auto& host : spec.hosts) {
        host.gpus.kind = GpuSpec::Kind::none;
    }
    return spec;
}

std::vector<std::string> errors(const ClusterSpec& spec, const EngineInfo& engine) {
    std::vector<std::string> messages;
    for (const auto& error : judge_engine(spec, spec.hosts.front(), engine).errors) {
        messages.push_back(error.message + " -> " + error.hint);
    }
    return messages;
}

std::vector<std::string> warnings(const ClusterSpec& spec, const EngineInfo& engine) {
    std::vector<std::string> messages;
    for (const auto& warning : judge_engine(spec, spec.hosts.front(), engine).warnings) {
        messages.push_back(warning.message);
    }
    return messages;
}

using Messages = std::vector<std::string>;

} // namespace

TEST_CASE("an engine is called by its kind, version, and whether it is rootless") {
    CHECK(engine_name(docker("26.1.5", {1, 45})) == "Engine 26.1.5");
    CHECK(engine_name(podman("5.4.2")) == "Podman 5.4.2");
    auto rootless = podman("5.4.2");
    rootless.rootless = true;
    CHECK(engine_name(rootless) == "Podman 5.4.2, rootless");
}

TEST_CASE("Docker from 20.10 to 29 does what a file with GPUs asks for") {
    for (const auto& engine :
         {docker("20.10.24", {1, 41}), docker("26.1.5", {1, 45}), docker("29.0.1", {1, 51})}) {
        CHECK(errors(spec_of(2), engine).empty());
        CHECK(warnings(spec_of(2), engine).empty());
    }
}

TEST_CASE("GPUs on Podman: by CDI names, whether the file says so or not, from 5.4 on") {
    auto spec = spec_of(1);
    CHECK(errors(spec, podman("5.4.2")).empty());
    spec.hosts[0].cdi = true;
    CHECK(errors(spec, podman("5.4.2")).empty());
    spec.hosts[0].cdi = false;
    CHECK(errors(spec, podman("5.4.2")) ==
          Messages{"Podman 5.4.2 ignores GPU requests that are not CDI names -> leave out `cdi: false` (the "
                   "host's CDI file: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml), or set `gpus: "
                   "none`"});
    for (const auto cdi : {std::optional(false), std::optional(true), std::optional<bool>()}) {
        spec.hosts[0].cdi = cdi;
        CHECK(errors(spec, podman("4.3.1")) ==
              Messages{"Podman 4.3.1 ignores all GPU requests of its Docker-compatible API -> upgrade Podman "
                       "on that host to 5.4 or newer, use Docker there, or set `gpus: none`"});
    }
    for (const auto& gpus : {GpuSpec{.kind = GpuSpec::Kind::count, .count = 0}, GpuSpec{.amd = true}}) {
        spec.hosts[0].gpus = gpus;
        CHECK(errors(spec, podman("4.3.1")).empty());
    }
}

TEST_CASE("CDI names on Docker: from 25 on, and where the daemon has it on") {
    auto spec = spec_of(1);
    spec.hosts[0].cdi = true;
    CHECK(errors(spec, docker("20.10.24", {1, 41})) ==
          Messages{"Engine 20.10.24 does not support CDI names -> upgrade Docker on that host to 25 or "
                   "newer, or leave out `cdi:`"});
    auto engine = docker("26.1.5", {1, 45});
    CHECK(errors(spec, engine) ==
          Messages{R"(CDI is off in Engine 26.1.5 -> write "features": {"cdi": true} into the host's )"
                   "/etc/docker/daemon.json and restart Docker, or leave out `cdi:`"});
    engine.rootless = true;
    CHECK(errors(spec, engine).at(0).find("the host's ~/.config/docker/daemon.json and") !=
          std::string::npos);
    engine.rootless = false;
    spec.hosts[0].cdi.reset();
    CHECK(errors(spec, engine).empty()); // by the hook
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"amd.com/gpu=0"}};
    CHECK(errors(spec, engine) ==
          Messages{R"(CDI is off in Engine 26.1.5 -> write "features": {"cdi": true} into the host's )"
                   "/etc/docker/daemon.json and restart Docker, or name GPUs by index or UUID"});
    engine.cdi_spec_dirs = {"/etc/cdi", "/var/run/cdi"};
    CHECK(errors(spec, engine).empty());
}

TEST_CASE("which way an engine gives GPUs, where the file does not say it") {
    HostSpec host;
    CHECK_FALSE(uses_cdi(host, docker("26.1.5", {1, 45})));
    CHECK(uses_cdi(host, podman("5.4.2")));
    auto engine = docker("28.5.1", {1, 50});
    engine.cdi_devices = {"amd.com/gpu=0"};
    CHECK_FALSE(uses_cdi(host, engine));
    engine.cdi_devices.emplace_back("nvidia.com/gpu=0");
    CHECK_FALSE(uses_cdi(host, engine)); // not all that there is
    engine.cdi_devices.emplace_back("nvidia.com/gpu=all");
    CHECK(uses_cdi(host, engine));
    CHECK(may_change_way(host, engine));
    // What the CDI file does not name the hook may know.
    host.gpus = {.kind = GpuSpec::Kind::devices, .devices = {"0"}};
    CHECK(uses_cdi(host, engine));
    host.gpus.devices = {"0", "GPU-8f0c"};
    CHECK_FALSE(uses_cdi(host, engine));
    auto spec = spec_of(1);
    spec.hosts[0].gpus = host.gpus;
    CHECK(errors(spec, engine).empty());
    host.gpus = {.kind = GpuSpec::Kind::count, .count = 1};
    CHECK(uses_cdi(host, engine));
    host.gpus.count = 2;
    CHECK_FALSE(uses_cdi(host, engine));
    host.gpus = {.kind = GpuSpec::Kind::none};
    CHECK_FALSE(uses_cdi(host, engine));
    CHECK_FALSE(may_change_way(host, engine));
    host.gpus = {};
    engine.runtimes = {"nvidia", "runc"};
    CHECK_FALSE(uses_cdi(host, engine));
    host.gpus = {.kind = GpuSpec::Kind::devices, .devices = {"nvidia.com/gpu=0:1"}};
    CHECK(uses_cdi(host, engine));
    CHECK_FALSE(may_change_way(host, engine));
    host.cdi = false;
    CHECK_FALSE(uses_cdi(host, engine));
    host.gpus = {};
    CHECK_FALSE(may_change_way(host, engine));
    CHECK_FALSE(may_change_way({}, podman("5.4.2")));
}

TEST_CASE("CDI names that an engine does not have, where it tells which it has") {
    auto spec = spec_of(1);
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"0", "7", "amd.com/gpu=0"}};
    auto engine = docker("28.5.1", {1, 50});
    engine.cdi_spec_dirs = {"/etc/cdi"};
    CHECK(errors(spec, engine).empty());
    engine.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=1", "nvidia.com/gpu=all"};
    CHECK(errors(spec, engine) ==
          Messages{"the host has no CDI device nvidia.com/gpu=7, amd.com/gpu=0; it has nvidia.com/gpu=0, "
                   "nvidia.com/gpu=1, nvidia.com/gpu=all -> name one of these, or regenerate the "
                   "host's CDI file (nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml)"});
    spec.hosts[0].gpus = {};
    CHECK(errors(spec, engine).empty());
    for (int i = 0; i < 20; ++i) {
        engine.cdi_devices.insert(engine.cdi_devices.begin(), "x.com/y=\x1b" + std::to_string(i));
    }
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"7"}};
    CHECK(errors(spec, engine).empty()); // the hook may know it
    spec.hosts[0].cdi = true;
    CHECK(errors(spec, engine).at(0).find("\\x1b19, ") != std::string::npos);
    CHECK(errors(spec, engine).at(0).find(" and 11 more -> ") != std::string::npos);
    engine.cdi_devices = {"amd.com/gpu=all"};
    spec.hosts[0].gpus = {};
    CHECK(errors(spec, engine)
              .at(0)
              .starts_with("the host has no CDI device nvidia.com/gpu=all; it has amd.com/gpu=all -> "));
}

TEST_CASE("GPUs of two vendors in one list") {
    CHECK(asks_for_amd({.amd = true}));
    CHECK_FALSE(asks_for_amd({}));
    auto spec = spec_of(1);
    auto engine = docker("28.5.1", {1, 50});
    engine.cdi_spec_dirs = {"/etc/cdi"};
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"amd.com/gpu=0"}};
    CHECK(asks_for_amd(spec.hosts[0].gpus));
    CHECK(judge_engine(spec, spec.hosts[0], engine).warnings.empty());
    spec.hosts[0].gpus.devices.emplace_back("nvidia.com/gpu=0");
    CHECK_FALSE(asks_for_amd(spec.hosts[0].gpus));
    const auto warnings = judge_engine(spec, spec.hosts[0], engine).warnings;
    REQUIRE(warnings.size() == 1);
    CHECK(warnings[0].message == "`gpus` names GPUs of AMD beside others: jobs are only given the others");
}

TEST_CASE("a Podman that is too old is told so, and of nothing else") {
    CHECK(errors(spec_of(1), podman("3.0.1")) ==
          Messages{"Podman 3.0.1 is too old: its Docker-compatible API refuses to create a node (no "
                   "container may turn "
                   "its image's healthcheck off) -> upgrade Podman on that host to 4.3 or newer, or use "
                   "Docker there"});
    for (const auto* version : {"4.2.0", "4.10.1", "10.0.0"}) {
        CHECK(errors(without_gpus(1), podman(version)).empty());
    }
    CHECK(errors(without_gpus(1), podman("")).size() == 1);
}

TEST_CASE("Podman ignores a runtime, which is an error, and makes missing folders, which is a warning") {
    auto spec = without_gpus(1);
    spec.container.mounts = {{.source = "data", .target = "/data"}};
    CHECK(warnings(spec, podman("5.4.2")).empty());
    spec.container.runtime = "nvidia";
    spec.container.mounts.push_back({.source = "/data", .target = "/data2"});
    CHECK(errors(spec, podman("5.4.2")) == Messages{"Podman 5.4.2 ignores `container.runtime` -> remove it, "
                                                    "or use Docker on that host; Podman's runtime "
                                                    "is set in the host's containers.conf"});
    CHECK(warnings(spec, podman("5.4.2")) ==
          Messages{"Podman 5.4.2 creates a folder of `container.mounts` that is missing on its host, where "
                   "Docker refuses to"});
    CHECK(errors(spec, docker("26.1.5", {1, 45})).empty());
    CHECK(warnings(spec, docker("26.1.5", {1, 45})).empty());
}

TEST_CASE("rootless Docker has no network of its host: refused where nodes are on several hosts") {
    auto engine = docker("26.1.5", {1, 45});
    engine.rootless = true;
    CHECK(errors(without_gpus(2), engine) ==
          Messages{
              "Engine 26.1.5, rootless: the host network of its containers is RootlessKit's, which has no "
              "address "
              "of the host, so that no other node reaches this one -> use that host's system-wide Docker, or "
              "rootless Podman, whose host network is the host's own"});
    CHECK(errors(without_gpus(1), engine).empty());
}

TEST_CASE("an engine that remaps users gives no node the host's network") {
    auto engine = docker("26.1.5", {1, 45});
    engine.remaps_users = true;
    CHECK(errors(without_gpus(1), engine) ==
          Messages{"Engine 26.1.5 remaps users (`userns-remap`): remapped containers cannot use "
                   "the host's network, which every node needs -> take `userns-remap` out of the host's "
                   "/etc/docker/daemon.json and restart Docker (existing images and containers "
                   "are hidden then), or use rootless Podman there"});
}

TEST_CASE(
    "SELinux: folders without a label may be shut, and a label is given to a folder that may not be there") {
    auto spec = without_gpus(1);
    auto engine = docker("26.1.5", {1, 45});
    spec.container.mounts = {{.source = "/a", .target = "/a", .selinux = "z"},
                             {.source = "v", .target = "/v"}};
    CHECK(warnings(spec, engine).empty());
    engine.selinux = true;
    CHECK(warnings(spec, engine) == Messages{"Engine 26.1.5 makes a folder of `container.mounts` with `z` or "
                                             "`Z` if it is missing on its host"});
    spec.container.mounts = {{.source = "v", .target = "/v"}, {.source = "/b", .target = "/b"}};
    CHECK(warnings(spec, engine) ==
          Messages{"SELinux is on in Engine 26.1.5: its nodes reach /b only where the "
                   "folder's label lets containers in"});
    auto unconfined = spec;
    unconfined.container.privileged = true;
    CHECK(warnings(unconfined, engine).empty());
    unconfined = spec;
    unconfined.container.ipc = "host";
    CHECK(warnings(unconfined, engine).empty());
}

TEST_CASE("SELinux: a folder for one container alone is not for two nodes of a machine") {
    auto spec = without_gpus(2);
    spec.container.mounts = {{.source = "/a", .target = "/a", .selinux = "Z"}};
    auto engine = docker("26.1.5", {1, 45});
    engine.selinux = true;
    CHECK(errors(spec, engine).empty());
    const Messages error{
        "with SELinux, `Z` gives /a to one container alone: of the nodes of this machine the last one takes "
        "it from the others -> write `z`, which lets all containers of the host in"};
    auto one_engine = spec;
    one_engine.hosts[1].docker = spec.hosts[0].docker;
    CHECK(errors(one_engine, engine) == error);
    spec.hosts[0].nodes = 2;
    CHECK(errors(spec, engine) == error);
    CHECK(errors(spec, docker("26.1.5", {1, 45})).empty());
    CHECK(errors(spec, podman("4.3.1")).empty()); // which does not tell whether there is SELinux
    spec.container.ipc = "host";
    CHECK(errors(spec, engine).empty());
}

TEST_CASE("a label is asked for where the engine has SELinux, and of Podman, which may not tell") {
    auto engine = docker("26.1.5", {1, 45});
    CHECK_FALSE(abilities_of(engine).labels);
    engine.selinux = true;
    CHECK(abilities_of(engine).labels);
    CHECK(abilities_of(podman("4.3.1")).labels);
    CHECK_FALSE(abilities_of(podman("4.3.1")).selinux);
}

TEST_CASE("Docker Desktop has that of its virtual machine: the same") {
    auto engine = docker("28.5.1", {1, 51});
    engine.operating_system = "Docker Desktop";
    CHECK(errors(without_gpus(2), engine) ==
          Messages{
              "Engine 28.5.1 is Docker Desktop's: its containers run in a virtual machine, whose address no "
              "other machine reaches, so that no other node reaches this one -> use that machine alone, or "
              "give it "
              "Docker Engine itself, or Podman"});
    CHECK(errors(without_gpus(1), engine).empty());
}

TEST_CASE("two hosts of the file that are one engine reach each other, whichever network that has") {
    auto spec = without_gpus(2);
    spec.hosts[1].docker = spec.hosts[0].docker;
    spec.hosts[1].docker.url = "another way to write it";
    auto desktop = docker("28.5.1", {1, 51});
    desktop.operating_system = "Docker Desktop";
    auto rootless = docker("26.1.5", {1, 45});
    rootless.rootless = true;
    for (const auto& engine : {desktop, rootless}) {
        CHECK(errors(spec, engine).empty());
        auto with_another = without_gpus(3);
        with_another.hosts[1].docker = with_another.hosts[0].docker;
        CHECK(errors(with_another, engine).size() == 1);
    }
}

TEST_CASE("rootless Podman has it, and cannot raise limits") {
    auto engine = podman("5.4.2");
    engine.rootless = true;
    auto spec = without_gpus(2);
    CHECK(errors(spec, engine).empty());
    CHECK(warnings(spec, engine).empty()); // as much memlock as it gives will do
    spec.container.ulimits = {{"memlock", {-1, -1}}};
    CHECK(warnings(spec, engine) ==
          Messages{"Podman 5.4.2, rootless cannot raise limits above those of its user, and "
                   "`container.ulimits` asks for unlimited"});
    spec.container.ulimits = {{"memlock", {8 << 20, 8 << 20}}};
    CHECK(warnings(spec, engine).empty());
}

TEST_CASE("a Podman host is not asked to mount what tells Docker of RDMA: it would make that folder") {
    const auto spec = without_gpus(2);
    auto observed = fresh(spec);
    observed.hosts[1].engine = podman("5.4.2");
    const auto plan = make_plan(spec, observed, context()).plan;
    const auto mounts_infiniband = [](const ContainerConfig& config) {
        return std::ranges::any_of(config.mounts,
                                   [](const Mount& m) { return m.source == "/dev/infiniband"; });
    };
    const Messages infiniband{"/dev/infiniband"};
    REQUIRE(plan.creates.size() == 2);
    CHECK(mounts_infiniband(plan.creates[0].config));
    CHECK_FALSE(mounts_infiniband(plan.creates[1].config));
    for (const auto& create : plan.creates) {
        CHECK(create.config.devices == infiniband);
        CHECK(create.without_rdma->devices.empty());
    }
}

TEST_CASE("warnings of a plan are about hosts on which a node is made") {
    auto spec = without_gpus(2);
    spec.container.mounts = {{.source = "/data", .target = "/data"}};
    auto observed = fresh(spec);
    observed.hosts[1].engine = podman("5.4.2");
    const auto result = make_plan(spec, observed, context());
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].where == "node-1 (tcp://10.0.0.2:2375)");

    observed.hosts[1].engine = podman("3.0.1");
    const auto refused = make_plan(spec, observed, context());
    REQUIRE(refused.errors.size() == 1);
    CHECK(refused.errors[0].where == "node-1 (tcp://10.0.0.2:2375)");
    CHECK(refused.plan.empty());
}

TEST_CASE("an engine that asks for no key is open to the jobs of its host") {
    HostSpec host;
    for (const auto* url :
         {"unix:///run/docker.sock", "ssh://gpu-1", "tcp://10.0.0.1:2375", "tcp://127.0.0.1:2375"}) {
        host.docker = *parse_engine_address(url);
        CHECK(judge_access(host).has_value() == host.docker.url.starts_with("tcp://"));
    }
    host.docker.scheme = EngineAddress::Scheme::tls;
    CHECK_FALSE(judge_access(host));
}

} // namespace engine_abilities_test
