#include "client/check/collective_rows.hpp"
#include "client/check/probe_text.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

namespace dockdist {
namespace {

using State = CheckRow::State;

CheckRow transport_row(State state, std::string subject, std::string text, std::string hint = {}) {
    return {.state = state,
            .layer = CheckLayer::collective,
            .subject = std::move(subject),
            .check = "transport",
            .text = std::move(text),
            .hint = std::move(hint)};
}

bool uses_sockets(const ProbeRank& rank) {
    return std::ranges::any_of(transports_of(rank),
                               [](const TransportWords& one) { return one.kind == "NET/Socket"; });
}

} // namespace

std::vector<CheckRow> judge_transport(const std::vector<NodeName>& nodes, const ProbeWorld& world) {
    if (world.nodes.size() < 2) {
        return {};
    }
    std::set<std::string> devices;
    std::set<std::size_t> with_device;
    for (std::size_t i = 0; i < world.rdma.size(); ++i) {
        if (!world.rdma[i].empty()) {
            with_device.insert(world.nodes[i]);
            for (const auto& device : world.rdma[i]) {
                devices.insert(printable(device));
            }
        }
    }
    bool sockets = false;
    std::string interface;
    for (const auto& rank : world.ranks) {
        for (const auto& device : texts_of(rank.result, "rdma_devices")) {
            with_device.insert(rank.place);
            devices.insert(device.substr(0, device.find(':')));
        }
        if (uses_sockets(rank)) {
            sockets = true;
            const auto interfaces = texts_of(rank.result, "interfaces");
            interface = interfaces.empty() ? interface : interfaces.front();
        }
    }
    const auto over = transport_words(world);
    const auto subject = world.nodes.size() == nodes.size() ? "all nodes" : node_names(nodes, world.nodes);
    if (over.empty()) {
        return {};
    }
    if (sockets && with_device.size() == world.nodes.size()) {
        return {transport_row(
            State::fail, subject,
            fmt::format("NCCL uses sockets (NET/Socket{}{}) although there are RDMA devices ({})",
                        interface.empty() ? "" : " on ", interface, fmt::join(devices, ", ")),
            "is /dev/infiniband in the containers (`container.devices`), libibverbs in the image, memlock "
            "unlimited, and neither NCCL_IB_DISABLE nor NCCL_NET set? `dockdist run --env NCCL_DEBUG=INFO` "
            "says why NCCL did not take them")};
    }
    if (sockets && !with_device.empty()) {
        return {transport_row(
            State::warn, subject,
            fmt::format("NCCL uses sockets: only {} of {} nodes have an active RDMA device ({})",
                        with_device.size(), world.nodes.size(), fmt::join(devices, ", ")),
            "one node without RDMA keeps all from using it: look at its links (`ibstat`) and its "
            "container's devices")};
    }
    return {transport_row(State::pass, subject,
                          fmt::format("{}{}", over, sockets ? "; no RDMA device is used" : ""))};
}

} // namespace dockdist
