// The values of srun's options. Errors are in Slurm's words where it has some.
#pragma once

#include "node/job/srun/srun_options.hpp"
#include "shared/core/result.hpp"

#include <string_view>

namespace dockdist::node {

// Up to wire::max_rank.
Result<int> read_count(std::string_view name, std::string_view text, int least = 1);
// "8", "a100:8"; of a list the sum.
Result<int> read_gpus(std::string_view name, std::string_view text);

// Each sets what the option of its name does.
Status read_nodes(SrunOptions& options, std::string_view text); // "2", "2-4"
// "gpu", "gpu:2", "gpu:a100:2", with others that are not to be had here: "gpu:2,nvme:1".
Status read_gres(SrunOptions& options, std::string_view text);
Status read_export(SrunOptions& options, std::string_view text);
Status read_kill(SrunOptions& options, std::string_view text);
Status read_open_mode(SrunOptions& options, std::string_view text);
Status read_distribution(SrunOptions& options, std::string_view text);
Status read_mpi(SrunOptions& options, std::string_view text);

} // namespace dockdist::node
