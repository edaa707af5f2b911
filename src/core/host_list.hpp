// Lists of host names as Slurm and pdsh write them: "node-[0-2,7],x".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// At the commas that are outside of brackets.
std::vector<std::string> split_host_list(std::string_view list);

// "node-[0-2,7],x" as names, with the zeros of "[08-10]" kept; nothing when it is no host list, or one of
// more than 65536 names.
std::optional<std::vector<std::string>> expand_host_list(std::string_view list);

// Names as a list that is expanded to the same names in the same order, as Slurm prints it: neighbours that
// differ only in the number at their end, which goes up, stand in one pair of brackets.
std::string host_list(std::span<const std::string> names);

} // namespace dockdist
