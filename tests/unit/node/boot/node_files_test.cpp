#include "golden.hpp"
#include "node/boot/node_files.hpp"
#include "unit/node/some_members.hpp"

namespace node_files_test {

using namespace dockdist;
using namespace dockdist::node;

TEST_CASE("ssh_config pins every node and asks nobody anything") {
    const auto members = some_members();
    check_golden("node/ssh_config", ssh_config(members.nodes[1], members));
}

TEST_CASE("sshd_config lets only the cluster's user in, by key, on the cluster's address") {
    check_golden("node/sshd_config", sshd_config(some_members().nodes[1], 3, 2));
}

TEST_CASE("authorized_keys restricts each key to its node's address") {
    check_golden("node/authorized_keys", authorized_keys(some_members()));
}

TEST_CASE("known_hosts names each node as ssh looks it up") {
    check_golden("node/known_hosts", known_hosts(some_members()));
}

TEST_CASE("each launcher's dialect of the hostfile") {
    check_golden("node/hostfile", hostfile(some_members()));
    check_golden("node/hostfile.hydra", hydra_hostfile(some_members()));
    check_golden("node/wcoll", wcoll(some_members()));
}

TEST_CASE("nothing generated turns host key checking off") {
    const auto members = some_members();
    const auto text = ssh_config(members.nodes[0], members) + sshd_config(members.nodes[0], 3, 2);
    CHECK(text.find("StrictHostKeyChecking no") == std::string::npos);
    CHECK(text.find("accept-new") == std::string::npos);
}

TEST_CASE("an IPv6 listener is written with brackets") {
    auto node = some_members().nodes[0];
    node.address = "fd00::2";
    CHECK(sshd_config(node, 3, 2).find("ListenAddress [fd00::2]:2222\n") != std::string::npos);
}

TEST_CASE("sshd takes every peer's connections at once, and not all from one address") {
    const auto has = [](int nodes, int nodes_beside, const std::string& line) {
        return sshd_config(some_members().nodes[0], nodes, nodes_beside).find("\n" + line + "\n") !=
               std::string::npos;
    };
    CHECK(has(64, 64, "PerSourceMaxStartups 192"));
    CHECK(has(64, 64, "MaxStartups 384:30:768"));
    CHECK(has(64, 1, "PerSourceMaxStartups 66"));
    CHECK(has(64, 1, "MaxStartups 384:30:768"));
}

TEST_CASE("sshd stays as it is when a cluster grows by a few nodes") {
    const auto node = some_members().nodes[0];
    CHECK(sshd_config(node, 33, 5) == sshd_config(node, 64, 8));
    CHECK(sshd_config(node, 64, 8) != sshd_config(node, 65, 8));
}

TEST_CASE("members that would inject a line or an option are refused") {
    CHECK(check_members(some_members()).has_value());
    const auto refused = [](auto change) {
        auto members = some_members();
        change(members.nodes[1]);
        return check_members(members).has_error();
    };
    CHECK(refused([](auto& node) { node.node = "b\nHost *"; }));
    CHECK(refused([](auto& node) { node.node = "-oProxyCommand=x"; }));
    CHECK(refused([](auto& node) { node.node = "a-0"; }));
    CHECK(refused([](auto& node) { node.address = "example.org"; }));
    CHECK(refused([](auto& node) { node.address = "10.0.0.1 slots=9"; }));
    CHECK(refused([](auto& node) { node.address = std::string("10.0.0.1\0\" ssh-ed25519 BBBB", 26); }));
    CHECK(
        refused([](auto& node) { node.interface = "eth0\nLD_PRELOAD=/x"; })); // it becomes NCCL_SOCKET_IFNAME
    CHECK(refused([](auto& node) { node.interface = "eth0,lo"; }));
    CHECK(refused([](auto& node) { node.ssh_port = 2222; })); // a-0's
    CHECK(refused([](auto& node) { node.ssh_port = 0; }));
    CHECK(refused([](auto& node) { node.slots = 0; }));
    CHECK(refused([](auto& node) { node.user = "root,alice"; }));
    CHECK(refused([](auto& node) { node.user = "-l"; }));
    CHECK(refused([](auto& node) { node.user_key = "ssh-rsa AAAA"; }));
    CHECK(refused([](auto& node) { node.user_key = "ssh-ed25519 AAAA\nssh-ed25519 BBBB"; }));
    CHECK(refused([](auto& node) { node.host_key = "ssh-ed25519 "; }));

    auto members = some_members();
    members.cluster = "vision\nLD_PRELOAD=/x"; // it becomes DOCKDIST_CLUSTER
    CHECK(check_members(members).has_error());
}

TEST_CASE("the common subnet holds all addresses and little else") {
    const auto subnet = [](std::initializer_list<const char*> addresses) {
        wire::Members members;
        for (const auto* address : addresses) {
            members.nodes.push_back({.address = address});
        }
        return common_subnet(members).value_or("none");
    };
    CHECK(subnet({"10.0.0.1", "10.0.0.2"}) == "10.0.0.0/30");
    CHECK(subnet({"10.0.0.7"}) == "10.0.0.7/32");
    CHECK(subnet({"192.168.1.200", "192.168.1.10", "192.168.1.99"}) == "192.168.1.0/24");
    CHECK(subnet({"10.0.0.1", "10.200.0.1"}) == "none");
    CHECK(subnet({"10.0.0.1", "fd00::1"}) == "none");
    CHECK(subnet({}) == "none");
}

TEST_CASE("the profile script brings any PATH back") {
    CHECK(profile_script("/opt/dockdist/bin:/it's here").find("PATH='/opt/dockdist/bin:/it'\\''s here'\n") !=
          std::string::npos);
}

TEST_CASE("variables that launchers need on this node") {
    const auto members = some_members();
    std::string text;
    for (const auto& [name, value] : node_variables(members.nodes[2], members)) {
        text += name + "=" + value + "\n";
    }
    check_golden("node/variables", text);
}

TEST_CASE("without a common network the interface's name is used when all have it, else nothing") {
    auto members = some_members();
    members.nodes[2].address = "172.16.0.1";
    CHECK(node_variables(members.nodes[0], members).at("OMPI_MCA_btl_tcp_if_include") == "eth0");
    members.nodes[2].interface = "ens5";
    CHECK_FALSE(node_variables(members.nodes[0], members).contains("OMPI_MCA_btl_tcp_if_include"));
}

TEST_CASE("Open MPI knows no networks of IPv6: it gets the interface's name, and NCCL the family") {
    auto members = some_members();
    CHECK_FALSE(node_variables(members.nodes[0], members).contains("NCCL_SOCKET_FAMILY"));
    for (std::size_t i = 0; i < members.nodes.size(); ++i) {
        CHECK_FALSE(node_variables(members.nodes[0], members).contains("NCCL_SOCKET_FAMILY"));
        members.nodes[i].address = "fd00::" + std::to_string(i + 1);
    }
    const auto variables = node_variables(members.nodes[0], members);
    CHECK(variables.at("NCCL_SOCKET_FAMILY") == "AF_INET6");
    CHECK(variables.at("OMPI_MCA_btl_tcp_if_include") == "eth0");
    CHECK(variables.at("PRTE_MCA_prte_if_include") == "eth0");
}

TEST_CASE("peers of a VPN are spread over more than a network: the interface's name serves") {
    auto members = some_members();
    members.nodes[0].address = "100.101.1.2";
    members.nodes[1].address = "100.72.3.4";
    members.nodes[2].address = "100.90.200.1";
    for (auto& node : members.nodes) {
        node.interface = "tailscale0";
    }
    const auto variables = node_variables(members.nodes[1], members);
    CHECK(variables.at("OMPI_MCA_btl_tcp_if_include") == "tailscale0");
    CHECK(variables.at("NCCL_SOCKET_IFNAME") == "=tailscale0");
}

TEST_CASE("a node's jobs are told its own RDMA ports, as all nodes share a network with them") {
    auto members = some_members();
    CHECK_FALSE(node_variables(members.nodes[0], members).contains("NCCL_IB_HCA"));
    for (std::size_t i = 0; i < members.nodes.size(); ++i) {
        members.nodes[i].rdma = {
            .inside = true,
            .nccl = "2.19.3",
            .ports = {{.device = "mlx5_" + std::to_string(i),
                       .link = "Ethernet",
                       .state = "ACTIVE",
                       .mbps = 200'000,
                       .gids = {{i == 0 ? 4 : 3, "10.1.0." + std::to_string(i + 1), 24, "eth2"}}}}};
    }
    auto variables = node_variables(members.nodes[0], members);
    CHECK(variables.at("NCCL_IB_HCA") == "=mlx5_0:1");
    CHECK(variables.at("NCCL_IB_GID_INDEX") == "4");
    CHECK(variables.at("UCX_NET_DEVICES") == "mlx5_0:1,eth0");
    variables = node_variables(members.nodes[2], members);
    CHECK(variables.at("NCCL_IB_HCA") == "=mlx5_2:1");
    CHECK(variables.at("NCCL_IB_GID_INDEX") == "3");
}

} // namespace node_files_test
