// The part of Slurm's scontrol that training scripts call: the names in a host list.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// `scontrol show hostnames [LIST]`, `show hostname`, `show hostlist LIST`. Nothing for other arguments.
std::optional<int> run_scontrol(const std::vector<std::string>& arguments);

// The nodes that a script has without asking for any: SLURM_JOB_NODELIST's, as text, else the cluster's own.
std::string own_host_list();

} // namespace dockdist::node
