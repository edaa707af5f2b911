// A `run` as a batch job of Slurm's: sbatch, and following what comes of it.
#pragma once

#include "client/cli/context.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct SubmitOptions {
    std::map<std::string, std::optional<std::string>> sbatch{}; // by long name; a flag's value is empty
    std::vector<std::string> more{};                            // words for sbatch as they are
    std::string warning = "2m";                                 // before the time limit
    bool no_wait = false;
    std::vector<std::string> command{}; // a `run` line
};

// Answers with the job's own exit code; 124 where Slurm has ended it for its time, 125 where it ended
// otherwise without one. An interrupt cancels the job and waits for its end; a hangup leaves it to Slurm.
Task<int> submit(Context& context, const Program& program, SubmitOptions options);

} // namespace dockdist
