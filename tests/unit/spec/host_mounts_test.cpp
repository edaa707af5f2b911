#include "client/spec/host_mounts.hpp"

#include <doctest/doctest.h>

namespace host_mounts_test {

using namespace dockdist;

namespace {

std::string given(const std::string& source, bool read_only = false) {
    const auto remark = judge_host_mount(source, read_only);
    return remark ? std::string(remark->given.substr(remark->given.find("job ") + 4)) : "";
}

} // namespace

TEST_CASE("a mount that holds an engine's socket is named, whichever engine's and however it is written") {
    for (const auto* source :
         {"/run", "/var/run/", "/run/docker.sock", "/var/run/docker.sock", "/run/docker",
          "/srv/../run/podman", "/run/podman/podman.sock", "/run/user/1000/podman/podman.sock", "/run/user",
          "/var/run/user/0", "/run/containerd/containerd.sock", "/run/containerd", "/run/crio/crio.sock",
          "/data/docker.sock", "/run/buildkit/buildkitd.sock"}) {
        CAPTURE(source);
        CHECK(given(source) == "access to the engine, and so root on the host");
        CHECK(given(source, true) == "access to the engine, and so root on the host");
    }
}

TEST_CASE("a mount that holds the host's files, accounts, keys, kernel or disks is named") {
    CHECK(given("/") == "the host's whole file system");
    CHECK(given("//.", true) == "the host's whole file system");
    for (const auto* source :
         {"/var", "/var/lib", "/var/lib/docker/volumes", "/var/lib/containers", "/var/lib/kubelet/pods"}) {
        CHECK(given(source, true) == "the files of every container there");
    }
    for (const auto* source : {"/etc", "/etc/", "/etc/ssh", "/etc/shadow", "/root", "/home/x/.ssh",
                               "/home/x/.ssh/id_rsa", "/home/x/.kube", "/srv/.aws"}) {
        CAPTURE(source);
        CHECK(given(source) == "the host's accounts and keys");
        CHECK(given(source, true) == "the host's accounts and keys");
    }
    CHECK(given("/proc", true) == "the host's processes and kernel settings");
    CHECK(given("/sys/kernel") == "the host's processes and kernel settings");
    CHECK(given("/dev") == "the host's devices, its disks among them");
}

TEST_CASE("what jobs need every day is not spoken of") {
    for (const auto* source :
         {"/data", "/home", "/home/x", "/root/.cache", "/var/cache/models", "/runs", "/etcetera", "/dev/shm",
          "/dev/infiniband", "/mnt/run/docker", "/var/lib/models", "/usr/local/cuda"}) {
        CAPTURE(source);
        CHECK(given(source) == "");
    }
    CHECK(given("/etc/localtime", true) == "");
    CHECK(given("/etc/ssl/certs/ca.pem", true) == "");
    CHECK(given("/etc/localtime") != ""); // root of a job could change it
    CHECK(given("/sys", true) == "");
}

} // namespace host_mounts_test
