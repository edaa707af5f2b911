// What nodes tell of their RDMA ports, and what becomes of it: on every node, variables of all jobs.
#include "fuzz/fuzz.hpp"
#include "shared/rdma/variables.hpp"

#include <algorithm>

namespace {

using namespace dockdist;

wire::RdmaPort roce(const std::string& device, int index, const std::string& address) {
    return {.device = device,
            .link = "Ethernet",
            .state = "ACTIVE",
            .mbps = 200'000,
            .netdev = "eth2",
            .gids = {{2, "169.254.1.1", 16, "eth2"}, {index, address, 24, "eth2"}}};
}

std::string list_of(const std::vector<wire::RdmaPort>& first, const std::vector<wire::RdmaPort>& second,
                    const std::string& nccl = "") {
    wire::Members members{.cluster = "c"};
    for (const auto* ports : {&first, &second}) {
        members.nodes.push_back({.node = "node-" + std::to_string(members.nodes.size()),
                                 .address = "10.0.0.1",
                                 .interface = "eth0",
                                 .rdma = {.inside = true, .nccl = nccl, .ports = *ports}});
    }
    return wire::members_list(members);
}

bool is_plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           std::string_view("_.:,=/-").find(c) != std::string_view::npos;
}

} // namespace

void fuzz::one_input(std::string_view input) {
    auto members = wire::parse_members(input);
    if (!members) {
        return;
    }
    const auto list = wire::members_list(*members);
    const auto again = wire::parse_members(list);
    require(again && wire::members_list(*again) == list, "what was read can be written and read again");
    for (auto& node : members->nodes) {
        node.interface = "eth0"; // it is judged with the other members' words, node_files.cpp
    }
    const auto fabric = rdma::judge(members->nodes);
    const auto settings = rdma::settings(fabric);
    require(settings.nodes.size() == members->nodes.size(), "every node has settings");
    for (std::size_t i = 0; i < fabric.nodes.size(); ++i) {
        const auto& node = fabric.nodes[i];
        require(node.lacks.empty() == (node.record.cut || std::ranges::any_of(node.ports, &rdma::Port::used)),
                "a node lacks RDMA, or uses a port");
        for (const auto& port : node.ports) {
            require(port.used == port.why.empty(), "a port is used, or it is said why not");
            require(!port.used || rdma::is_active(port.port), "a port that is used has a link");
        }
        for (const auto& variable : settings.nodes[i]) {
            require(std::ranges::all_of(variable.value, is_plain) && !variable.value.empty(),
                    "a value holds what devices, addresses and numbers are made of");
        }
    }
    // The other way around: the same is decided, whoever comes first, of each node's ports.
    std::ranges::reverse(members->nodes);
    require(rdma::judge(members->nodes).apart == fabric.apart, "the order of nodes does not matter");
}

std::vector<std::string> fuzz::seeds() {
    const wire::RdmaPort ib{.device = "mlx5_0",
                            .link = "InfiniBand",
                            .state = "ACTIVE",
                            .mbps = 400'000,
                            .prefix = "fe80:0000:0000:0000"};
    auto slow = ib;
    slow.device = "mlx5_1";
    slow.mbps = 100'000;
    auto down = ib;
    down.state = "DOWN";
    return {list_of({}, {}), list_of({ib, slow}, {ib, down}),
            list_of({roce("a", 3, "10.1.0.1")}, {roce("b", 4, "10.1.0.2")}),
            list_of({roce("a", 3, "10.1.0.1")}, {roce("b", 4, "10.2.0.2"), ib}, "2.19.3")};
}
