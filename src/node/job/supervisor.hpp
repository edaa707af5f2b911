// The one process beside a job on its node: it starts the command, where there is one, keeps its output and
// its ranks' true exit codes, holds the lease and the ports, and ends everything that bears the job's mark.
// What becomes of the job as a whole its coordinator decides (shared/wire/job.hpp).
#pragma once

#include "node/gpus/held_units.hpp"
#include "node/job/log/output_log.hpp"
#include "node/session/job_part.hpp"
#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "node/system/loop.hpp"
#include "node/system/port_reservation.hpp"
#include "node/system/process.hpp"
#include "shared/wire/job.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dockdist::node {

struct PreparedJob {
    wire::JobSummary summary{}; // with the policy and the lease
    wire::JobStart start{};     // argv empty: no command, its ranks come from elsewhere
    JobPart part{};
    std::map<std::string, std::string> opening_env{}; // over what a start sets
    Account account{};
    std::int64_t grace_ms = 0;
    int signal = SIGTERM;        // by which it is told to end
    std::int64_t timeout_ms = 0; // 0: never
    OutputLog log{};
    Fd control{};                 // listening
    Fd ranks{}, members{};        // FifoDoor::make
    std::size_t most_ranks = 16;  // at a time
    std::uint64_t open_files = 0; // the command's soft limit of them; 0: as this process has it
    std::vector<ReservedPort> ports{};
    int own_port = 0; // of these, that nobody is told of but by wire::own_port; 0: none
    HeldUnits held{}; // until nothing of the part is left

    // What runs from the next attempt on.
    void take_start(wire::JobStart from_now_on);
    // Its scratch, and what the command sees, in attempt `attempt`.
    Status enter_attempt(int attempt);
    Environment environment{};

private:
    int threads_of_a_rank() const; // 0: they are not ours to say
};

class SupervisedPart {
public:
    SupervisedPart() = default;
    SupervisedPart(const SupervisedPart&) = delete;
    SupervisedPart& operator=(const SupervisedPart&) = delete;
    virtual ~SupervisedPart() = default;

    virtual void begin() = 0;         // starts the command, where there is one
    virtual bool is_gone() const = 0; // nothing is left of the part, and the loop was told to stop
};

// The part is run on `loop`, which outlives it. It takes the signals of its process and reaps its children,
// so it has a process to itself.
// Followers and it speak in lines. Follower → supervisor: wire::JobCommand lines. Supervisor → follower: job
// events, and empty lines that say that the log has grown.
std::unique_ptr<SupervisedPart> supervise(Loop& loop, PreparedJob job);

} // namespace dockdist::node
