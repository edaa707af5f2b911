// The one process beside a job on its node: it started the command, keeps its output and its ranks' true exit
// codes, holds the lease, and ends everything that bears the job's mark.
#pragma once

#include "node/accounts.hpp"
#include "node/environment.hpp"
#include "node/output_log.hpp"
#include "node/process.hpp"
#include "wire/job.hpp"

namespace dockdist::node {

struct PreparedJob {
    wire::JobRequest request{};
    wire::JobSummary summary{};
    Account account{};
    Environment environment{};
    std::string workdir{};
    OutputLog log{};
    Fd control{}, ranks{}; // listening
};

// Runs the job to its end, in a process of its own. Returns that process's exit status.
int supervise(PreparedJob job);

// Followers and the supervisor speak in lines. Follower → supervisor: wire::JobCommand lines, and this one
// when the client's side of its stdin has ended. Supervisor → follower: job events, and empty lines that say
// that the log has grown.
inline constexpr std::string_view client_gone_line = "gone";

} // namespace dockdist::node
