// What outlives a node's container: a volume of the node's own, at paths().store.
//
//   version   "FORMAT RELEASE": of what stands here, and the dockdist that made it so
//   lock      locked by PID 1 of the container whose the store is: of a node's old container, set aside, and
//             its new one, one alone
//   history   what is kept of ended jobs, as the file says it (wire::HistoryLimits)
//   jobs      a folder a job, node/job/job_store.hpp
#pragma once

#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/history.hpp"

#include <cstdint>

namespace dockdist::node {

inline constexpr int store_format = 1;

// Makes what is missing; the store is the caller's as long as the descriptor is open. Errors: busy, another
// container has it; config, it is of a newer format, and nothing is changed; node, the volume takes nothing.
Result<Fd> take_store();

// Whether this program understands what stands there. True where nothing does yet. Error (config): it is of a
// newer format.
Status check_store();

// Whether less than a twentieth of a disk of `all` blocks is free; false where nobody knows.
bool is_nearly_full(std::uint64_t free, std::uint64_t all);
bool disk_is_nearly_full(); // that on which the store is

// What the file says, from the last join on; before that, and where it cannot be read, the defaults.
wire::HistoryLimits load_history_limits();
Status save_history_limits(const wire::HistoryLimits& limits);

} // namespace dockdist::node
