// How Slurm writes what a job is. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dockdist {

// Slurm's job ids are numbers; scripts use them in file names and as seeds of port numbers.
std::string slurm_job_number(std::string_view job);

// "2(x3),1": a number for each node.
std::string slurm_counts(std::span<const int> of_nodes);

} // namespace dockdist
