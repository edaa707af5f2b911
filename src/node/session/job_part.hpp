// A node's part of a job: what its command, its ranks and the ssh sessions of the job see there. It may hold
// secrets, so it stands in the job's scratch, on the tmpfs, for the job's user alone, and goes with the job.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/job.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace dockdist::node {

struct JobPart {
    std::string job{};
    std::map<std::string, std::string> env{};
    std::map<std::string, std::string> secrets{}; // over env
    bool rank_secrets = false;                    // they are for ranks alone, wire::JobStart
    std::vector<std::string> unset{};             // wins over both
    std::string workdir{};
    std::int64_t grace_ms = wire::default_grace.count(); // between a signal that ends the job and KILL
    int units = 0;      // GPUs, MIG instances or slots of this node that are the job's own; 0: none
    int threads = 0;    // OMP_NUM_THREADS of its ranks, where nobody else says it; 0: it is not ours to set
    std::string gpus{}; // CUDA_VISIBLE_DEVICES, over whatever else sets it; empty: it is not ours to set
    std::vector<std::string> rank_command{};
    std::map<std::string, std::string> env_defaults{};          // wire::JobStart, with the port
    std::vector<std::map<std::string, std::string>> rank_env{}; // by local rank, over env and gpus
    int local_rank_at = -1;                                     // wire::JobStart
    std::string local_rank_option = "--local_rank";
};

std::string scratch_folder(const std::string& job); // wire::job_scratch()

// Makes the scratch with the part and `files` (path → content; a path that is not below the scratch is an
// error) in it. The folder is the user's only
// once everything is there: until then nobody can plant a link in it.
Status make_scratch(const JobPart& part, const std::map<std::string, std::string>& files,
                    const Account& account);
bool remove_scratch(const std::string& job, std::size_t most = std::numeric_limits<std::size_t>::max());

// not_found where this node has no part of the job, or the caller may not read it.
Result<JobPart> load_part(const std::string& job);

// Pure: the part over an environment: its variables, the job's mark, the toolkit in PATH, and what travels
// with ssh sessions to nodes that have no part. `for_rank`: with the secrets that are for ranks alone.
void apply_part(Environment& environment, const JobPart& part, bool for_rank = false);
// Pure: what the job's command sees.
Environment job_environment(Environment container, const JobPart& part, const Account& account);

} // namespace dockdist::node
