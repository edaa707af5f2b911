// The part of Slurm's scontrol that training scripts call: the names in a host list.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// `scontrol show hostnames [LIST]`, `show hostname`, `show hostlist LIST`. Nothing for other arguments.
std::optional<int> run_scontrol(const std::vector<std::string>& arguments);

// Pure: "node-[0-2,7],x" as names, with the zeros of "[08-10]" kept; nothing when it is no host list, or one
// of more than 65536 names.
std::optional<std::vector<std::string>> expand_hostlist(std::string_view list);

} // namespace dockdist::node
