#include "client/engine/json_encode.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace json_encode_test {

using namespace dockdist;
using nlohmann::json;

namespace {

json encoded(const ContainerConfig& config) {
    return json::parse(encode_container(config));
}

} // namespace

TEST_CASE("a container that asks for nothing says nothing") {
    ContainerConfig config;
    config.image = ImageRef("bb");
    CHECK(encoded(config) == json::parse(R"({"Image":"bb","HostConfig":{}})"));
}

TEST_CASE("all that a container can ask for") {
    ContainerConfig config;
    config.image = ImageRef("torch:2.6");
    config.hostname = "a";
    config.user = "1000:1000";
    config.working_dir = "/workspace";
    config.entrypoint = {"/opt/dockdist/bin/dockdist-init"};
    config.command = {"run"};
    config.env = {"A=b c", "E="};
    config.labels = {{"dockdist.cluster", "vision"}};
    config.mounts = {{.type = Mount::Type::bind, .source = "/data", .target = "/data", .read_only = true},
                     {.type = Mount::Type::bind, .source = "/new", .target = "/n", .make_source = true},
                     {.type = Mount::Type::volume,
                      .source = "toolkit",
                      .target = "/opt/dockdist",
                      .read_only = true,
                      .volume_labels = {{"l", "m"}}},
                     {.type = Mount::Type::volume, .target = "/own"},
                     {.type = Mount::Type::tmpfs, .target = "/run/dockdist", .tmpfs_options = "mode=0755"}};
    config.network_mode = "host";
    config.ipc_mode = "host";
    config.pid_mode = "host";
    config.runtime = "nvidia";
    config.shm_size = Bytes{1024};
    config.ulimits = {{"memlock", -1, -1}};
    config.devices = {"/dev/infiniband"};
    config.device_requests = {{"", -1, {}}, {"cdi", 0, {"nvidia.com/gpu=0"}}};
    config.cap_add = {"IPC_LOCK"};
    config.cap_drop = {"ALL"};
    config.no_new_privileges = true;
    config.read_only_root = true;
    config.pids_limit = 100;
    config.privileged = true;
    config.restart_policy = "unless-stopped";
    config.stop_timeout = std::chrono::seconds(7);
    config.stdin_once = true;
    config.disable_healthcheck = true;
    config.log_driver = "json-file";
    config.log_options = {{"max-size", "10m"}};
    CHECK(encoded(config) == json::parse(R"({
        "Image": "torch:2.6", "Hostname": "a", "User": "1000:1000", "WorkingDir": "/workspace",
        "Entrypoint": ["/opt/dockdist/bin/dockdist-init"], "Cmd": ["run"], "Env": ["A=b c", "E="],
        "Labels": {"dockdist.cluster": "vision"}, "StopTimeout": 7, "OpenStdin": true, "StdinOnce": true, "Healthcheck": {"Test": ["NONE"]},
        "HostConfig": {
            "Mounts": [
                {"Type": "bind", "Source": "/data", "Target": "/data", "ReadOnly": true},
                {"Type": "volume", "Source": "toolkit", "Target": "/opt/dockdist", "ReadOnly": true,
                 "VolumeOptions": {"Labels": {"l": "m"}}},
                {"Type": "volume", "Target": "/own", "ReadOnly": false}],
            "Binds": ["/new:/n"],
            "Tmpfs": {"/run/dockdist": "mode=0755"},
            "NetworkMode": "host", "IpcMode": "host", "PidMode": "host", "Runtime": "nvidia", "ShmSize": 1024,
            "Ulimits": [{"Name": "memlock", "Soft": -1, "Hard": -1}],
            "Devices": [{"PathOnHost": "/dev/infiniband", "PathInContainer": "/dev/infiniband", "CgroupPermissions": "rwm"}],
            "DeviceRequests": [
                {"Driver": "", "Count": -1, "Capabilities": [["gpu"]]},
                {"Driver": "cdi", "Count": 0, "DeviceIDs": ["nvidia.com/gpu=0"], "Capabilities": [["gpu"]]}],
            "CapAdd": ["IPC_LOCK"], "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges"], "ReadonlyRootfs": true,
            "PidsLimit": 100, "Privileged": true,
            "RestartPolicy": {"Name": "unless-stopped"},
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "10m"}}}})"));
}

TEST_CASE("a label for SELinux, and a volume in which nothing is run, is to be had by Binds alone") {
    ContainerConfig config;
    config.image = ImageRef("bb");
    config.mounts = {
        {.source = "/a", .target = "/a", .read_only = true, .selinux = "z", .propagation = "rslave"},
        {.source = "/b", .target = "/c", .selinux = "Z"},
        {.source = "/d", .target = "/d", .propagation = "rslave"},
        {.type = Mount::Type::volume,
         .source = "v",
         .target = "/v",
         .volume_labels = {{"l", "m"}},
         .no_copy = true},
        {.type = Mount::Type::volume, .source = "w", .target = "/w", .data_only = true}};
    CHECK(encoded(config)["HostConfig"] == json::parse(R"({
        "Binds": ["/a:/a:ro,z,rslave", "/b:/c:Z", "w:/w:nosuid,nodev,noexec"],
        "Mounts": [
            {"Type": "bind", "Source": "/d", "Target": "/d", "ReadOnly": false, "BindOptions": {"Propagation": "rslave"}},
            {"Type": "volume", "Source": "v", "Target": "/v", "ReadOnly": false,
             "VolumeOptions": {"Labels": {"l": "m"}, "NoCopy": true}}]})"));
}

TEST_CASE("a container without a label of SELinux keeps its other limits") {
    ContainerConfig config;
    config.no_label = true;
    CHECK(encoded(config)["HostConfig"]["SecurityOpt"] == json::parse(R"(["label=disable"])"));
    config.no_new_privileges = true;
    CHECK(encoded(config)["HostConfig"]["SecurityOpt"] ==
          json::parse(R"(["no-new-privileges", "label=disable"])"));
}

TEST_CASE("text that is not UTF-8 does not end the program") {
    ContainerConfig config;
    config.env = {"A=\xff"};
    CHECK(encoded(config)["Env"][0] == "A=\xEF\xBF\xBD");
}

TEST_CASE("an exec") {
    CHECK(json::parse(encode_exec(ExecConfig{{"sh", "-c", "true"}, {"A=b"}, "root", "/", true, false})) ==
          json::parse(
              R"({"Cmd":["sh","-c","true"],"Env":["A=b"],"User":"root","WorkingDir":"/","AttachStdin":true,
                          "AttachStdout":true,"AttachStderr":true,"Tty":false,"Privileged":false})"));
}

TEST_CASE("filters leave out what is empty") {
    CHECK(encode_filters({{"label", {"a=b"}}, {"type", {}}}) == R"({"label":["a=b"]})");
    CHECK(encode_filters({{"label", {}}}).empty());
}

} // namespace json_encode_test
