// The step from a prepared job to a running command.
#pragma once

#include "node/job/supervisor.hpp"
#include "node/system/program.hpp"
#include "shared/job_state/job_text.hpp"

namespace dockdist::node {

struct StartedCommand {
    pid_t pid = 0; // 0: it could not be started, see error
    Fd out{}, err{};
    Fd problems{}; // its end says that the program runs; what comes before it, why it does not
    ProgramError error{};
    Cause cause{}; // of the error, where more is known
};

// The job's command in a session of its own, as its user, in its folder, with its environment; stdin is
// empty. None of what comes from it blocks.
StartedCommand start_command_of(PreparedJob& job);
ProgramError start_error(const std::string& problem);

// The job's code where its command gave none: it could not be reaped, or there was none.
void conclude_without_command(wire::JobResult& result, bool had_one);

} // namespace dockdist::node
