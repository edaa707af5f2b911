// What a node of a dockdist before 0.2 has kept of its jobs in its own container, brought into the volume of
// the node that takes its place (docs/history.md).
#pragma once

#include "client/container/container_engine.hpp"
#include "client/report/event.hpp"
#include "shared/core/names.hpp"

#include <cstdint>

namespace dockdist {

struct HandOver {
    NodeName node{};
    ContainerId from{}; // running or not
    ContainerId to{};   // runs, and has its store; a name does, too
};

// The records of all jobs, and their output as long as it is less than `most_output` bytes altogether, that
// of those which have ended last first: it goes through this machine. The value: what could not come, for
// each job. Error: the new node lacks a record, and the old container is to stay.
inline constexpr std::uint64_t most_output = std::uint64_t{1} << 30U;
Task<Result<Errors>> hand_over_jobs(ContainerEngine& engine, HandOver nodes, Reporter& reporter,
                                    std::uint64_t output_limit = most_output);

} // namespace dockdist
