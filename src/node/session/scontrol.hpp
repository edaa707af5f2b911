// The part of Slurm's scontrol that training scripts call: host lists, the job, its nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// `scontrol [-o] show hostnames|hostlist|hostlistsorted [LIST|/FILE]`, `show job [ID]`, `show node [LIST]`,
// `ping`, `version`, in any case, shortened, and as `show job=ID`, as Slurm 22.05 takes them. Nothing for
// other arguments.
std::optional<int> run_scontrol(const std::vector<std::string>& arguments);

inline constexpr const char* batch_script_variable = "DOCKDIST_BATCH_SCRIPT"; // its path, in its job

// The nodes that a script has without asking for any: SLURM_JOB_NODELIST's, as text, else the cluster's own.
std::string own_host_list();

} // namespace dockdist::node
