// Hosts asked of their GPUs, and of who has them, by a short-lived container instead of a node.
#pragma once

#include "client/observe/observe.hpp"
#include "shared/core/toolkits.hpp"
#include "shared/wire/gpus.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

// Starts a container of gpu_look_config(), which tells and ends. Errors: those of the engine; node, what it
// says instead; timeout.
Task<Result<wire::GpuReport>> start_and_hear(ContainerEngine& engine, ContainerId helper);

struct HostsAsked {
    const Toolkits& toolkits;
    std::string attempt{}, origin{}; // for the labels of what is made there
    bool board_alone = false;        // not the GPUs, which nvidia-smi takes a second for
};
// One answer for each of `hosts`: its GPUs, and all that its board knows (GpuReport of no node). Only with
// what is on the host already, an image and a toolkit, its own or that of another cluster's nodes: nothing is
// brought there, and what is made is removed. Where the engine gives no GPUs the board is told, with the
// cause as its problem. Errors: not_found, where there is nothing to look with; those of the engine. `seen`:
// as observe() fills it when it is given the toolkits' versions.
Task<std::vector<Result<wire::GpuReport>>> ask_hosts(const ClusterSpec& spec, const Engines& engines,
                                                     const ObservedCluster& seen,
                                                     const std::vector<std::size_t>& hosts, HostsAsked asked);

} // namespace dockdist
