// Asks NCCL's RAS, by TCP on this node's loopback, about a job's communicators.
//
// Source: NCCL's src/ras/client.cc and client_support.cc, tags v2.24.3-1 to v2.30.7-1. All processes of a
// user may listen at one port (SO_REUSEPORT), any of them answers for the whole job, and a stopped one gets
// its share of the connections: who does not answer the greeting within a second is left for another one.
#pragma once

#include "shared/core/result.hpp"
#include "shared/diagnosis/ras.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace dockdist::node {

struct RasLimits {
    std::int64_t greeting_ms = 1000; // of each connection
    std::int64_t answer_ms = 11'000; // all of it; RAS ends its own query after 10 s
    int connections = 24;
};

// Blocks. Nothing: nobody listens there. Errors: timeout, protocol.
Result<std::optional<RasStatus>> ask_ras(int port, const RasLimits& limits = {});

inline constexpr std::int64_t between_ras_looks_ms = 1000;
// What this says at once and, where counts differ, `pause_ms` later. `environ`: that of a rank, which says
// where its RAS listens. Nothing in the report: the rank's NCCL has none, or does not run yet.
wire::RasReport look_at_ras(std::string_view environ, std::int64_t pause_ms = between_ras_looks_ms);

// Pure: the port on loopback; nothing where the rank has none, or has turned it off. Errors: usage, where it
// is another's.
Result<std::optional<int>> ras_port_in(std::string_view environ);

} // namespace dockdist::node
