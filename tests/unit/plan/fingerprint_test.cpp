#include "client/plan/fingerprint.hpp"
#include "client/plan/node_config.hpp"
#include "cluster_builder.hpp"

#include <doctest/doctest.h>

namespace fingerprint_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

ContainerConfig config_of(const ClusterSpec& spec) {
    const auto details = image();
    const auto nodes = expand_nodes(spec);
    return node_config({spec, nodes.at(0), &details, "t1"}, false);
}

} // namespace

TEST_CASE("the fingerprint of a configuration stays: with another, an update would make every node anew") {
    const ContainerConfig config{
        .image = ImageRef("train:1"),
        .hostname = "node-0",
        .user = "0:0",
        .working_dir = "/workspace",
        .entrypoint = {"/opt/dockdist/bin/dockdist-init"},
        .env = {"PATH=/usr/bin", "A=\xff"},
        .labels = {{"dockdist.node", "node-0"}},
        .mounts = {{.source = "/data", .target = "/data", .read_only = true},
                   {.type = Mount::Type::volume,
                    .source = "dockdist-toolkit-t1",
                    .target = "/opt/dockdist",
                    .volume_labels = {{"dockdist.version", "t1"}}},
                   {.type = Mount::Type::tmpfs, .target = "/run/x", .tmpfs_options = "mode=0755"}},
        .network_mode = "host",
        .ipc_mode = "private",
        .runtime = "nvidia",
        .shm_size = Bytes{64ULL << 30U},
        .ulimits = {{.name = "memlock", .soft = -1, .hard = -1}},
        .devices = {"/dev/infiniband"},
        .device_requests = {{.driver = "cdi", .device_ids = {"nvidia.com/gpu=0"}}, {.count = -1}},
        .cap_add = {"IPC_LOCK"},
        .pids_limit = 65536,
        .stop_timeout = std::chrono::seconds(10),
        .disable_healthcheck = true,
        .log_driver = "json-file",
        .log_options = {{"max-size", "1m"}, {"max-file", "2"}}};
    CHECK(fingerprint(config) == "d83ff6996eafafd3");
    CHECK(fingerprint(config_of(spec_of(1))) == "ecc7ab03a979b9aa");
}

TEST_CASE("what has changed is named as the file names it") {
    auto spec = spec_of(1);
    spec.container.env = {{"NVIDIA_GONE", "1"}, {"NVIDIA_LR", "0.1"}, {"NVIDIA_STAYS", "x"}, {"LR", "1"}};
    const auto before = key_digests(config_of(spec));
    CHECK(before.find("0.1") == std::string::npos); // no value stands in a label
    const auto after = [&](auto change) {
        auto changed = spec;
        change(changed);
        return changed_keys_text(before, config_of(changed));
    };
    CHECK(after([](ClusterSpec& s) { s.container.shm_size = Bytes{1}; }) == "`container.shm_size` changed");
    CHECK(after([](ClusterSpec& s) {
              s.container.env.erase("NVIDIA_GONE");
              s.container.env["NVIDIA_LR"] = "0.2";
              s.container.env["NVIDIA_NEW"] = "1";
              s.container.env["LR"] = "2"; // this and the folder need no new container
              s.container.env["BATCH"] = "8";
              s.container.workdir = "/elsewhere";
          }) == "`env.NVIDIA_GONE`, `env.NVIDIA_LR`, `env.NVIDIA_NEW` changed");
    CHECK(after([](ClusterSpec& s) {
              s.container.shm_size = Bytes{1};
              s.container.pids_limit = 7;
              s.container.privileged = true;
              s.container.mounts.push_back({.source = "/a", .target = "/b"});
              s.container.devices.emplace_back("/dev/fuse");
              s.container.ipc = "host";
          }).ends_with(" more changed"));
    CHECK(changed_keys_text("", config_of(spec)) == "its configuration changed"); // an earlier dockdist's
    CHECK(changed_keys_text("[1]", config_of(spec)) == "its configuration changed");
}

TEST_CASE("the fingerprint follows every field but the labels") {
    const auto base = config_of(spec_of(1));
    auto other = base;
    other.labels["x"] = "y";
    CHECK(fingerprint(other) == fingerprint(base));
    const auto differs = [&](auto change) {
        auto changed = base;
        change(changed);
        return fingerprint(changed) != fingerprint(base);
    };
    CHECK(differs([](ContainerConfig& c) { c.env.emplace_back("NVIDIA_X=1"); }));
    CHECK(differs([](ContainerConfig& c) { c.env.emplace_back("DOCKDIST_X=1"); }));
    CHECK(differs([](ContainerConfig& c) { c.env = {"PATH=/x"}; }));
    CHECK_FALSE(differs([](ContainerConfig& c) { c.env.emplace_back("X=1"); }));
    CHECK(differs([](ContainerConfig& c) { c.mounts.pop_back(); }));
    CHECK(differs([](ContainerConfig& c) { c.mounts[0].read_only = false; }));
    CHECK(differs([](ContainerConfig& c) { c.mounts[0].selinux = "z"; }));
    CHECK(differs([](ContainerConfig& c) { c.mounts[0].propagation = "rslave"; }));
    CHECK(differs([](ContainerConfig& c) { c.mounts[0].no_copy = true; }));
    CHECK(differs([](ContainerConfig& c) { c.ulimits[0].hard = 1; }));
    CHECK_FALSE(differs([](ContainerConfig& c) { c.ulimits[0].if_allowed = true; }));
    CHECK(differs([](ContainerConfig& c) { c.device_requests.clear(); }));
    CHECK(differs([](ContainerConfig& c) { c.privileged = true; }));
    CHECK(differs([](ContainerConfig& c) { c.ipc_mode = "host"; }));
    CHECK(differs([](ContainerConfig& c) { c.cap_drop.clear(); }));
    CHECK(differs([](ContainerConfig& c) { c.no_new_privileges = false; }));
    CHECK(differs([](ContainerConfig& c) { c.cap_add.emplace_back("SYS_PTRACE"); }));
    CHECK(differs([](ContainerConfig& c) { c.stop_timeout = std::chrono::seconds(20); }));
    CHECK(differs([](ContainerConfig& c) { c.stop_timeout.reset(); }));
    CHECK(differs([](ContainerConfig& c) { c.read_only_root = true; }));
    CHECK(differs([](ContainerConfig& c) { c.disable_healthcheck = false; }));
    CHECK(differs([](ContainerConfig& c) { c.image = ImageRef("other:1"); }));
    CHECK(differs([](ContainerConfig& c) { c.hostname = "x"; }));
    CHECK(differs([](ContainerConfig& c) { c.user = "1:1"; }));
    CHECK_FALSE(differs([](ContainerConfig& c) { c.working_dir = "/x"; }));
    CHECK(differs([](ContainerConfig& c) { c.entrypoint.clear(); }));
    CHECK(differs([](ContainerConfig& c) { c.command = {"x"}; }));
    CHECK(differs([](ContainerConfig& c) { c.network_mode = "bridge"; }));
    CHECK(differs([](ContainerConfig& c) { c.pid_mode = "host"; }));
    CHECK(differs([](ContainerConfig& c) { c.runtime = "runc"; }));
    CHECK(differs([](ContainerConfig& c) { c.shm_size = Bytes{1}; }));
    CHECK(differs([](ContainerConfig& c) { c.devices = {"/dev/x"}; }));
    CHECK(differs([](ContainerConfig& c) { c.pids_limit.reset(); }));
    CHECK(differs([](ContainerConfig& c) { c.restart_policy = "always"; }));
    CHECK(differs([](ContainerConfig& c) { c.log_driver = "journald"; }));
    CHECK(differs([](ContainerConfig& c) { c.log_options.clear(); }));
}

} // namespace fingerprint_test
