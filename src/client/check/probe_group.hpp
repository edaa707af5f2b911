// One world of dockdist-probes: a process for each GPU of some nodes, carried over one stream a node.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/observe/observe.hpp"
#include "shared/wire/probe.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct ProbeNode {
    const ReadyNode* node = nullptr;
    ContainerEngine* engine = nullptr;
    std::size_t place = 0; // in CheckReport::nodes
    int gpus = 0;          // ranks
};

// What became of one rank. Nothing of it need be there.
struct ProbeRank {
    std::size_t place = 0; // of its node
    int local_rank = 0;    // its GPU
    nlohmann::json device{};
    std::vector<nlohmann::json> measurements{};
    nlohmann::json result{};
    std::optional<wire::ProbeEnd> end{};
};

struct ProbeWorld {
    std::vector<std::size_t> nodes{}; // places
    std::vector<ProbeRank> ranks{};   // in rank order
    // RDMA devices with an active port, a list a node.
    std::vector<std::vector<std::string>> rdma{};
    Errors errors{}; // of the way to a node; where = its name

    // Every rank measured to the end; elements may be wrong.
    bool complete() const;
};

// `order` is what every rank is told, but for rank, world_size, device and deadline_ms. Ends soon after the
// deadline whatever happens; when a rank fails, the others are ended a moment later. Cancellation throws, and
// ends every probe.
Task<ProbeWorld> run_probes(std::vector<ProbeNode> nodes, nlohmann::json order,
                            std::chrono::milliseconds deadline);

} // namespace dockdist
