// What the nodes tell of the GPUs of their hosts, and of who has them (wire::GpuReport).
#pragma once

#include "client/observe/observe.hpp"
#include "shared/wire/gpus.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace dockdist {

// All nodes side by side, one answer each; an error names its node; `reporter` is told whom it waits for.
// in_use_mib: as wire::GpuAsk has it.
Task<std::vector<Result<wire::GpuReport>>> ask_gpus(const Engines& engines,
                                                    const std::vector<ReadyNode>& nodes,
                                                    std::int64_t in_use_mib, Reporter* reporter = nullptr);

// Tells `hear` at once, and again whenever something is another. Returns when the node says no more.
Task<Error> follow_gpus(ContainerEngine& engine, const ReadyNode& node, std::int64_t in_use_mib,
                        std::function<void(wire::GpuReport)> hear);

// One host, as all of its nodes see it together: a GPU that several of them have is one GPU, and who waits on
// the host is told once.
struct HostGpus {
    std::size_t host = 0; // index into ClusterSpec::hosts
    std::vector<wire::GpuFacts> units{};
    std::vector<wire::GpuWaiter> line{};
    std::vector<std::string> problems{}; // sentences
};
// As a host's report tells it that no node gave.
HostGpus gpus_of_host(std::size_t host, const wire::GpuReport& report);
// `reports`: of each node, those that have none are passed over. In the order of the hosts.
std::vector<HostGpus> gpus_by_host(const std::vector<ReadyNode>& nodes,
                                   const std::vector<Result<wire::GpuReport>>& reports);

} // namespace dockdist
