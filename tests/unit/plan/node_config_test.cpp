#include "cluster_builder.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace node_config_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

const std::vector<std::string> kept_capabilities{"AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE", "FOWNER",
                                                 "FSETID",      "KILL",   "SETFCAP",      "SETGID",
                                                 "SETPCAP",     "SETUID", "SYS_CHROOT"};

ContainerConfig config_of(const ClusterSpec& spec, std::size_t index = 0, bool rdma = false) {
    static const auto details = image();
    const auto nodes = expand_nodes(spec);
    return node_config({spec, nodes.at(index), &details, "t1"}, rdma);
}

ObservedCluster with_cdi(const ClusterSpec& spec) {
    auto observed = fresh(spec);
    observed.hosts[0].engine.api = {1, 45};
    observed.hosts[0].engine.cdi_spec_dirs = {"/etc/cdi"};
    return observed;
}

// The labels of a node that was made while its engine told of CDI names.
Labels creates_by_cdi(const ClusterSpec& spec) {
    auto observed = with_cdi(spec);
    observed.hosts[0].engine.cdi_devices = {"nvidia.com/gpu=all"};
    return make_plan(spec, observed, context()).plan.creates.at(0).config.labels;
}

} // namespace

TEST_CASE("the defaults are right for GPU training and not privileged") {
    const auto config = config_of(spec_of(1));
    CHECK(config.network_mode == "host");
    CHECK(config.ipc_mode == "private");
    CHECK_FALSE(config.privileged);
    CHECK(config.no_new_privileges);
    CHECK(config.pids_limit == 65536);
    CHECK(config.cap_drop == std::vector<std::string>{"ALL"});
    CHECK(config.cap_add == kept_capabilities);
    CHECK(config.devices.empty());
    CHECK(config.entrypoint == std::vector<std::string>{"/opt/dockdist/bin/dockdist-init"});
    const Ulimit memlock{.name = "memlock", .soft = -1, .hard = -1, .if_allowed = true};
    CHECK(std::ranges::find(config.ulimits, memlock) != config.ulimits.end());
}

TEST_CASE("the toolkit stands first in the PATH of the image") {
    auto spec = spec_of(1);
    CHECK(config_of(spec).env == std::vector<std::string>{"PATH=/opt/dockdist/bin:/opt/conda/bin:/usr/bin"});
    spec.container.env["PATH"] = "/mine";
    CHECK(config_of(spec).env == std::vector<std::string>{"PATH=/opt/dockdist/bin:/mine"});
}

TEST_CASE("a host's environment wins over the cluster's") {
    auto spec = spec_of(1);
    spec.container.env = {{"A", "1"}, {"B", "2"}};
    spec.hosts[0].env = {{"B", "3"}};
    const auto env = config_of(spec).env;
    CHECK(std::ranges::find(env, "A=1") != env.end());
    CHECK(std::ranges::find(env, "B=3") != env.end());
    CHECK(std::ranges::find(env, "B=2") == env.end());
}

TEST_CASE("the toolkit's volume is read-only in a node and writable only where it is filled") {
    const auto node = config_of(spec_of(1)).mounts.at(0);
    CHECK(node.source == "dockdist-toolkit-t1");
    CHECK(node.read_only);
    const auto upload = toolkit_upload_config({.ref = ImageRef("train:1")}, "t1");
    CHECK_FALSE(upload.mounts.at(0).read_only);
    CHECK(upload.cap_drop == std::vector<std::string>{"ALL"});
}

TEST_CASE("GPUs as the engine is asked for them") {
    auto spec = spec_of(1);
    SUBCASE("all") {
        CHECK(config_of(spec).device_requests == std::vector<DeviceRequest>{{.driver = "", .count = -1}});
    }
    SUBCASE("none") {
        spec.hosts[0].gpus = {.kind = GpuSpec::Kind::none};
        CHECK(config_of(spec).device_requests.empty());
    }
    SUBCASE("a count") {
        spec.hosts[0].gpus = {.kind = GpuSpec::Kind::count, .count = 2};
        CHECK(config_of(spec).device_requests == std::vector<DeviceRequest>{{.driver = "", .count = 2}});
    }
    SUBCASE("devices by CDI") {
        spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"0", "vendor.com/gpu=x"}};
        const auto plan = make_plan(spec, with_cdi(spec), context()).plan;
        CHECK(plan.creates.at(0).config.device_requests ==
              std::vector<DeviceRequest>{
                  {.driver = "cdi", .device_ids = {"nvidia.com/gpu=0", "vendor.com/gpu=x"}}});
    }
    SUBCASE("by CDI names where the engine's devices are NVIDIA's and it has no runtime of theirs") {
        auto observed = with_cdi(spec);
        observed.hosts[0].engine.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=all"};
        const auto requests = [&] {
            return make_plan(spec, observed, context()).plan.creates.at(0).config.device_requests;
        };
        const std::vector<DeviceRequest> by_cdi{{.driver = "cdi", .device_ids = {"nvidia.com/gpu=all"}}};
        CHECK(requests() == by_cdi);
        observed.hosts[0].engine.runtimes = {"nvidia", "runc"};
        CHECK(requests() == std::vector<DeviceRequest>{{.count = -1}});
        spec.hosts[0].cdi = true;
        CHECK(requests() == by_cdi);
    }
    SUBCASE("a node stays when its engine comes to tell of another way, and is made anew for the rest") {
        auto observed = after_up(spec);
        auto& host = observed.hosts[0];
        host.engine.api = {1, 50};
        host.engine.cdi_spec_dirs = {"/etc/cdi"};
        host.engine.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=all"};
        REQUIRE(uses_cdi(spec.hosts[0], host.engine));
        const auto creates = [&] {
            const auto result = make_plan(spec, observed, context());
            CHECK(result.errors.empty());
            return result.plan.creates;
        };
        CHECK(creates().empty());
        host.nodes[0].state = ContainerState::exited; // the hook may be there still
        CHECK(creates().empty());
        host.nodes[0].state = ContainerState::running;
        SUBCASE("the file says the way") {
            spec.hosts[0].cdi = true;
            CHECK(creates().at(0).cause == "`gpus` changed");
        }
        SUBCASE("the file has changed") {
            spec.container.shm_size = Bytes{1};
            const auto made = creates();
            CHECK(made.at(0).cause == "`container.shm_size`, `gpus` changed");
            CHECK(made.at(0).config.device_requests.at(0).driver == "cdi");
        }
        SUBCASE("the way that it went is closed") {
            host.nodes[0].labels = creates_by_cdi(spec);
            host.engine.cdi_devices.clear();
            host.engine.cdi_spec_dirs.clear();
            CHECK(creates().empty());
            host.nodes[0].state = ContainerState::exited;
            CHECK(creates().size() == 1);
        }
    }
    SUBCASE("none, where NVIDIA's runtime is the engine's own one and the image wants all") {
        auto observed = fresh(spec);
        const std::string none = "NVIDIA_VISIBLE_DEVICES=void";
        const auto has_none = [&] {
            const auto env = make_plan(spec, observed, context()).plan.creates.at(0).config.env;
            return std::ranges::find(env, none) != env.end();
        };
        observed.hosts[0].image->env.emplace_back("NVIDIA_VISIBLE_DEVICES=all");
        CHECK_FALSE(has_none());
        spec.hosts[0].gpus = {.kind = GpuSpec::Kind::none};
        CHECK(has_none());
        spec.hosts[0].gpus = {.amd = true};
        CHECK(has_none());
        spec.container.env["NVIDIA_VISIBLE_DEVICES"] = "0";
        CHECK_FALSE(has_none());
        spec.container.env.clear();
        spec.container.runtime = "nvidia"; // asked for by the file
        CHECK_FALSE(has_none());
        spec.container.runtime.clear();
        observed.hosts[0].image = image();
        CHECK_FALSE(has_none());
    }
    SUBCASE("AMD's, as devices") {
        const std::string asked = "DOCKDIST_AMD_GPUS=1";
        const auto env_before = config_of(spec).env;
        CHECK(std::ranges::find(env_before, asked) == env_before.end());
        spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"amd.com/gpu=0"}};
        const auto env_by_name = config_of(spec).env;
        CHECK(std::ranges::find(env_by_name, asked) != env_by_name.end());
        spec.hosts[0].gpus = {.kind = GpuSpec::Kind::none};
        spec.container.devices = {"/dev/kfd", "/dev/dri"};
        const auto env_by_devices = config_of(spec).env;
        CHECK(std::ranges::find(env_by_devices, asked) != env_by_devices.end());
        spec.container.devices.clear();
        spec.hosts[0].gpus = {.amd = true};
        const auto env = config_of(spec).env;
        CHECK(std::ranges::find(env, asked) != env.end());
        CHECK(config_of(spec).device_requests.empty());
        CHECK(config_of(spec).devices == std::vector<std::string>{"/dev/kfd", "/dev/dri"});
        CHECK(
            to_text(make_plan(spec, fresh(spec), context()).plan, spec).find("(train:1, all GPUs, AMD's)") !=
            std::string::npos);
    }
    SUBCASE("two nodes on one host share its GPUs without overlap") {
        spec.hosts[0].gpus = {.kind = GpuSpec::Kind::devices, .devices = {"0", "1", "2", "3"}};
        spec.hosts[0].nodes = 2;
        CHECK(config_of(spec, 0).device_requests.at(0).device_ids == std::vector<std::string>{"0", "1"});
        CHECK(config_of(spec, 1).device_requests.at(0).device_ids == std::vector<std::string>{"2", "3"});
    }
}

TEST_CASE("RDMA: the devices, IPC_LOCK, and a mount that the engine refuses where there are none") {
    const auto config = config_of(spec_of(1), 0, true);
    CHECK(config.devices == std::vector<std::string>{"/dev/infiniband"});
    CHECK(config.cap_add.back() == "IPC_LOCK");
    CHECK(config.mounts.back().source == "/dev/infiniband");
    auto spec = spec_of(1);
    CHECK(make_plan(spec, fresh(spec), context()).plan.creates.at(0).without_rdma.has_value());
    spec.network.rdma = NetworkSpec::Rdma::off;
    const auto off = make_plan(spec, fresh(spec), context()).plan.creates.at(0);
    CHECK_FALSE(off.without_rdma.has_value());
    CHECK(off.config.devices.empty());
}

TEST_CASE("hosts with NVIDIA's own CPUs: the IMEX channel, and what it is refused by where there is none") {
    auto spec = spec_of(1);
    auto observed = fresh(spec);
    observed.hosts[0].image->architecture = "arm64";
    const auto created = [&] { return make_plan(spec, observed, context()).plan.creates.at(0); };
    const auto asks = [](const ContainerConfig& config) {
        return std::ranges::count(config.devices, imex_channel) +
               std::ranges::count(config.mounts, imex_channel, &Mount::source);
    };
    observed.hosts[0].engine.architecture = "aarch64";
    CHECK(asks(created().config) == 2);
    CHECK(asks(*created().without_rdma) == 2);
    auto stripped = created().config;
    stripped = without_imex(std::move(stripped));
    CHECK(asks(stripped) == 0);
    CHECK(std::ranges::count(stripped.devices, "/dev/infiniband") == 1);
    spec.container.devices_auto = false;
    CHECK(asks(created().config) == 0);
    spec.container.devices_auto = true;
    spec.hosts[0].gpus = {.kind = GpuSpec::Kind::none};
    CHECK(asks(created().config) == 0);
    spec.hosts[0].gpus = {};
    observed.hosts[0].engine.architecture = "x86_64";
    observed.hosts[0].image->architecture = "amd64";
    CHECK(asks(created().config) == 0);
}

TEST_CASE("shm_size counts only where /dev/shm is the container's own") {
    auto spec = spec_of(1);
    CHECK(config_of(spec).shm_size == Bytes{64ULL << 30U});
    spec.container.ipc = "host";
    CHECK_FALSE(config_of(spec).shm_size.has_value());
}

TEST_CASE("a capability that the file names comes beside the node's own; ALL and privileged leave none out") {
    auto spec = spec_of(1);
    const auto capabilities = [&](std::vector<std::string> add) {
        spec.container.cap_add = std::move(add);
        return config_of(spec, 0, true).cap_add;
    };
    auto wanted = kept_capabilities;
    wanted.insert(wanted.begin(), "NET_RAW");
    wanted.emplace_back("IPC_LOCK");
    CHECK(capabilities({"NET_RAW"}) == wanted);
    CHECK(capabilities({"KILL", "IPC_LOCK"}).size() == kept_capabilities.size() + 1);
    CHECK(capabilities({"ALL"}) == std::vector<std::string>{"ALL"});
    CHECK(config_of(spec).cap_drop.empty());
    spec.container.cap_add.clear();
    spec.container.privileged = true;
    CHECK(config_of(spec).cap_drop.empty());
}

TEST_CASE("sshd keeps the right to a port below 1024 where the file gives it one") {
    auto spec = spec_of(1);
    spec.ssh.port = Port{1023};
    CHECK(config_of(spec).cap_add.back() == "NET_BIND_SERVICE");
    spec.ssh.port = Port{1024};
    CHECK(config_of(spec).cap_add == kept_capabilities);
}

TEST_CASE("on an engine of Docker's snap nodes may gain privileges, unless the file says no") {
    auto spec = spec_of(1);
    auto observed = fresh(spec);
    observed.hosts[0].engine.root_dir = "/var/snap/docker/common/var-lib-docker";
    CHECK_FALSE(make_plan(spec, observed, context()).plan.creates.at(0).config.no_new_privileges);
    spec.container.no_new_privileges = true;
    CHECK(make_plan(spec, observed, context()).plan.creates.at(0).config.no_new_privileges);
}

TEST_CASE("nobody gains rights by a program's owner where jobs run as root; elsewhere sudo may be meant") {
    auto spec = spec_of(1);
    CHECK(config_of(spec).no_new_privileges);
    spec.container.no_new_privileges = false;
    CHECK_FALSE(config_of(spec).no_new_privileges);
    spec.container.no_new_privileges.reset();
    spec.container.user = "1000";
    CHECK_FALSE(config_of(spec).no_new_privileges);
    spec.container.user = "0:100";
    CHECK(config_of(spec).no_new_privileges);
    spec.container.user = "1000";
    spec.container.no_new_privileges = true;
    CHECK(config_of(spec).no_new_privileges);
    spec = spec_of(1);
    spec.container.privileged = true;
    CHECK_FALSE(config_of(spec).no_new_privileges);
}

TEST_CASE("a mount's label is asked for where the engine takes it, which makes a missing folder there") {
    auto spec = spec_of(1);
    spec.container.mounts = {{.source = "/a", .target = "/a", .selinux = "z", .propagation = "rslave"},
                             {.source = "c", .target = "/c", .no_copy = true}};
    const auto mounts = [&](bool labels) {
        const auto nodes = expand_nodes(spec);
        NodeConfigInput input{spec, nodes.at(0), nullptr, "t1"};
        input.engine.labels = labels;
        auto all = node_config(input, false).mounts;
        return std::vector<Mount>(all.end() - 2, all.end());
    };
    const Mount volume{.type = Mount::Type::volume, .source = "c", .target = "/c", .no_copy = true};
    CHECK(mounts(true) ==
          std::vector<Mount>{{.source = "/a", .target = "/a", .selinux = "z", .propagation = "rslave"},
                             volume});
    CHECK(mounts(false) ==
          std::vector<Mount>{{.source = "/a", .target = "/a", .propagation = "rslave"}, volume});
}

} // namespace node_config_test
