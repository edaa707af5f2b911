// One task of srun's on this node.
#pragma once

#include "node/job/srun/step_messages.hpp"
#include "node/system/environment.hpp"
#include "node/system/os.hpp"

#include <string>
#include <sys/types.h>

namespace dockdist::node {

struct StepTask {
    int rank = 0;
    pid_t pid = 0; // 0: it has ended
    Fd out{}, err{};
    Fd in{};               // what comes for its stdin; closed: nothing more
    std::string waiting{}; // for it to be read
    bool in_ends = false;  // behind that
};

// In a process group of its own, in the step's folder. A program that is not there is an end with code 2, one
// that cannot be executed one with 13, as Slurm's slurmstepd has it, with a line on the task's stderr.
Result<StepTask> start_step_task(const StepStart& start, int rank, Environment environment);

// Signals the task and what it has in its process group.
void signal_step_task(const StepTask& task, int signal);

} // namespace dockdist::node
