#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

namespace hosts_test {

using namespace dockdist;
using namespace dockdist::test;

namespace {

ClusterSpec hosts(const std::string& list) {
    return load_good("image: a\nhosts:\n" + list);
}

} // namespace

TEST_CASE("a host in short form is its address, with every default") {
    const auto spec = hosts("  - ssh://ops@10.0.0.1\n");
    REQUIRE(spec.hosts.size() == 1);
    const auto& host = spec.hosts[0];
    CHECK(host.name == HostName("node-10-0-0-1"));
    CHECK(host.docker.scheme == EngineAddress::Scheme::ssh);
    CHECK(host.docker.user == "ops");
    CHECK(host.address == "10.0.0.1");
    CHECK(host.gpus == GpuSpec{});
    CHECK(host.nodes == 1);
    CHECK_FALSE(host.slots.has_value());
    CHECK(host.line == 3);
}

TEST_CASE("a host in long form says everything") {
    const auto spec = hosts(R"(
  - name: a
    docker: tcp://10.0.0.1:2390
    tls: {ca: certs/ca.pem, cert: /etc/c.pem, key: ../key.pem}
    address: gpu-1.lab
    gpus: [0, GPU-1b]
    slots: 4
    nodes: 2
    env: {NCCL_IB_HCA: mlx5_0}
    interface: ib0
)");
    const auto& host = spec.hosts[0];
    CHECK(host.name == HostName("a"));
    CHECK(host.docker.scheme == EngineAddress::Scheme::tls);
    CHECK(host.docker.port == Port{2390});
    CHECK(host.tls == TlsFiles{"/home/ada/vision/certs/ca.pem", "/etc/c.pem", "/home/ada/key.pem"});
    CHECK(host.address == "gpu-1.lab");
    CHECK(host.gpus.devices == std::vector<std::string>{"0", "GPU-1b"});
    CHECK(host.slots == 4);
    CHECK(host.nodes == 2);
    CHECK(host.env == std::map<std::string, std::string>{{"NCCL_IB_HCA", "mlx5_0"}});
    CHECK(host.interface == "ib0");
}

TEST_CASE("with tls an address without a port means Docker's TLS port") {
    const auto spec = hosts("  - {docker: tcp://h, tls: {ca: a, cert: b, key: c}}\n"
                            "  - {docker: \"tcp://[fe80::2375]\", tls: {ca: a, cert: b, key: c}}\n"
                            "  - {docker: tcp://i:2375, tls: {ca: a, cert: b, key: c}}\n");
    CHECK(spec.hosts[0].docker.port == Port{2376});
    CHECK(spec.hosts[1].docker.port == Port{2376});
    CHECK(spec.hosts[2].docker.port == Port{2375});
}

TEST_CASE("tcp without TLS is taken on loopback and where the file insists") {
    const auto spec = hosts(
        "  - {docker: tcp://127.0.0.1:2375, gpus: none}\n  - {docker: tcp://10.0.0.1, insecure: true}\n");
    CHECK(spec.hosts[0].docker.scheme == EngineAddress::Scheme::tcp);
    CHECK_FALSE(spec.hosts[0].insecure);
    CHECK(spec.hosts[1].insecure);
}

TEST_CASE("with network.subnet the engine's address is the engine's alone") {
    const auto read = [](const std::string& subnet) {
        return load_good(
            "image: a\nnetwork: {subnet: " + subnet +
            "}\nhosts:\n  - ssh://ops@10.0.0.1\n  - {docker: ssh://ops@10.0.0.2, interface: ib0}\n"
            "  - {docker: ssh://ops@10.0.0.3, address: 10.9.0.3}\n");
    };
    const auto spec = read("10.1.0.0/16");
    CHECK(spec.network.subnets == std::vector<std::string>{"10.1.0.0/16"});
    CHECK(spec.hosts[0].docker.host == "10.0.0.1");
    CHECK(spec.hosts[0].address.empty());
    CHECK(spec.hosts[0].subnets == spec.network.subnets);
    CHECK(spec.hosts[1].address.empty());
    CHECK(spec.hosts[1].subnets == spec.network.subnets);
    CHECK(spec.hosts[1].interface == "ib0");
    CHECK(spec.hosts[2].address == "10.9.0.3"); // its own wins
    CHECK(spec.hosts[2].subnets.empty());
    CHECK(spec.hosts[2].given_address == "10.9.0.3");
    CHECK(spec.hosts[1].given_address.empty());
    CHECK(read("[10.1.0.0/16, \"FD00:1:0::/48\"]").hosts[0].subnets ==
          std::vector<std::string>{"10.1.0.0/16", "fd00:1::/48"});
    CHECK(read("[]").hosts[0].address == "10.0.0.1");
}

TEST_CASE("with network.subnet two engines at one address are still one machine") {
    const std::string file = "image: a\nnetwork: {subnet: 10.1.0.0/16}\nhosts:\n"
                             "  - {docker: ssh://ops@10.0.0.1, gpus: none}\n"
                             "  - {docker: tcp://10.0.0.1, insecure: true, gpus: none}\n";
    CHECK(load_good(file).container.ipc == "host");
    CHECK(load_good(file).hosts[1].address.empty());
}

TEST_CASE("with network.subnet two engines behind one gateway may have the same port") {
    const std::string file = "image: a\nssh: {port: 2222}\nnetwork: {subnet: 10.1.0.0/16}\nhosts:\n"
                             "  - {docker: 'ssh://ops@gate:2201', gpus: none}\n"
                             "  - {docker: 'ssh://ops@gate:2202', gpus: none}\n";
    CHECK(load_good(file).hosts.size() == 2);
}

TEST_CASE("an engine on loopback or a unix socket leaves the node to find its address") {
    const auto spec =
        hosts("  - {docker: tcp://localhost:2375}\n  - {docker: unix:///var/run/docker.sock}\n");
    CHECK(spec.hosts[0].address.empty());
    CHECK(spec.hosts[1].address.empty());
}

TEST_CASE("without hosts there is one: the engine that docker itself would use") {
    const auto spec = load_good("image: a\n");
    REQUIRE(spec.hosts.size() == 1);
    CHECK(spec.hosts[0].name == HostName("node-0"));
    CHECK(spec.hosts[0].use_current_context);
    CHECK(spec.hosts[0].docker == EngineAddress{});
}

TEST_CASE("hosts without a name are called after their machines, wherever their lines stand") {
    const auto names = [](const std::string& list) {
        std::string all;
        for (const auto& host : hosts(list).hosts) {
            all += (all.empty() ? "" : " ") + host.name.str();
        }
        return all;
    };
    CHECK(names("  - ssh://ops@gpu1\n  - ssh://GPU_2.lab:2222\n  - {docker: tcp://10.0.0.3:2375, insecure: "
                "true}\n"
                "  - {context: my-lab.1}\n  - \"ssh://[fd00::1]\"\n") ==
          "gpu1 gpu-2.lab node-10-0-0-3 my-lab.1 node-fd00--1");
    CHECK(names("  - {context: my-lab.1}\n  - ssh://GPU_2.lab:2222\n") == "my-lab.1 gpu-2.lab");
    CHECK(names("  - tcp://127.0.0.1:2301\n  - ssh://localhost\n  - unix:///run/podman/podman.sock\n") ==
          "node-2301 node-local node-podman");
    const std::string docker = "  - {docker: ssh://gpu1, gpus: none}\n";
    const std::string podman = "  - {docker: ssh://root@gpu1/run/podman/podman.sock, gpus: none}\n";
    CHECK(names(docker + podman) == "gpu1 gpu1-2"); // whichever comes first
    CHECK(names(podman + docker) == "gpu1-2 gpu1");
    CHECK(names(docker + docker + docker) == "gpu1 gpu1-2 gpu1-3");
    CHECK(names("  - ssh://a\n  - {name: a, docker: ssh://b}\n") == "a-2 a");
    CHECK(names("  - ssh://a\n  - {docker: ssh://b, name: a-2, nodes: 2, gpus: none}\n"
                "  - {docker: ssh://x@a, nodes: 3, gpus: none}\n") == "a a-2 a-3");
}

TEST_CASE("what the file calls a host by its place is the host, unless another has that name") {
    const auto spec = load_good(
        "image: {ref: a, from: node-1}\nhosts: [ssh://a, ssh://b, {name: node-0, docker: ssh://c}]\n"
        "groups: {first: node-1, last: node-0}\ndata: [{from: \"node-0:/x\", to: /x}]\n");
    CHECK(spec.image.from == "b");
    CHECK(spec.data[0].host == "node-0");
    CHECK(spec.hosts[1].groups == std::vector<std::string>{"first"});
    CHECK(spec.hosts[2].groups == std::vector<std::string>{"last"});
    CHECK(find_host(spec, "node-1") == &spec.hosts[1]);
    CHECK(find_host(spec, "node-0") == &spec.hosts[2]);
    CHECK(find_host(spec, "node-2") == nullptr);
    CHECK(find_host(spec, "") == nullptr);
}

TEST_CASE("a context is kept by name") {
    const auto spec = hosts("  - {name: lab, context: my-lab.1, address: 10.0.0.9}\n");
    CHECK(spec.hosts[0].context == "my-lab.1");
    CHECK(spec.hosts[0].docker == EngineAddress{});
}

TEST_CASE("gpus: all, none, a count, indices, CDI names") {
    const auto spec = hosts("  - {docker: ssh://a, gpus: all}\n  - {docker: ssh://b, gpus: none}\n"
                            "  - {docker: ssh://c, gpus: 8}\n  - {docker: ssh://d, gpus: [1]}\n"
                            "  - {docker: ssh://e, gpus: [nvidia.com/gpu=0], cdi: true}\n"
                            "  - {docker: ssh://f, gpus: [MIG-aa, 1:0], cdi: auto}\n"
                            "  - {docker: ssh://g, gpus: [amd.com/gpu=all]}\n"
                            "  - {docker: ssh://i, gpus: amd, cdi: false}\n");
    CHECK(spec.hosts[0].gpus.kind == GpuSpec::Kind::all);
    CHECK(spec.hosts[1].gpus.kind == GpuSpec::Kind::none);
    CHECK(spec.hosts[2].gpus == GpuSpec{.kind = GpuSpec::Kind::count, .count = 8});
    CHECK(spec.hosts[3].gpus.devices == std::vector<std::string>{"1"});
    CHECK(spec.hosts[4].gpus.devices == std::vector<std::string>{"nvidia.com/gpu=0"});
    CHECK(spec.hosts[4].cdi == true);
    CHECK(spec.hosts[5].gpus.devices == std::vector<std::string>{"MIG-aa", "1:0"});
    CHECK_FALSE(spec.hosts[5].cdi.has_value());
    CHECK(spec.hosts[6].gpus.devices == std::vector<std::string>{"amd.com/gpu=all"});
    CHECK(spec.hosts[7].gpus == GpuSpec{.amd = true});
    CHECK(spec.hosts[7].cdi == false);
}

TEST_CASE("entries of one engine are fine while their GPUs differ") {
    const auto spec = hosts("  - {docker: ssh://a, gpus: [0, 1]}\n  - {docker: ssh://a, gpus: [2, 3]}\n"
                            "  - {docker: ssh://a, gpus: none}\n");
    CHECK(spec.hosts.size() == 3);
}

TEST_CASE("one fixed port serves hosts that are different machines") {
    CHECK(load_good("image: a\nhosts: [ssh://a, ssh://b]\nssh: {port: 2222}\n").ssh.port == Port{2222});
}

} // namespace hosts_test
