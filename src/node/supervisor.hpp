// The one process beside a job on its node: it started the command, where there is one, keeps its output and
// its ranks' true exit codes, holds the lease and the ports, and ends everything that bears the job's mark.
#pragma once

#include "node/accounts.hpp"
#include "node/environment.hpp"
#include "node/output_log.hpp"
#include "node/port_reservation.hpp"
#include "node/process.hpp"
#include "wire/job.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

struct PreparedJob {
    wire::JobSummary summary{};
    std::vector<std::string> argv{}; // empty: no command, its ranks come from elsewhere
    Account account{};
    Environment environment{};
    std::string folder{}; // in which the command starts
    std::int64_t lease_ms = 0;
    std::int64_t grace_ms = 0;
    std::int64_t timeout_ms = 0; // 0: never
    OutputLog log{};
    Fd control{}, ranks{}; // listening
    std::vector<ReservedPort> ports{};
};

// Runs the job to its end, in a process of its own. Returns that process's exit status.
int supervise(PreparedJob job);

// Followers and the supervisor speak in lines. Follower → supervisor: wire::JobCommand lines, and this one
// when the client's side of its stdin has ended. Supervisor → follower: job events, and empty lines that say
// that the log has grown.
inline constexpr std::string_view client_gone_line = "gone";

} // namespace dockdist::node
