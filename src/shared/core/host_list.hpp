// Lists of host names as Slurm, pdsh and clush write them: "node-[0-2,7],x", "gpu[0-8/2]", "r[1-4]n[01-16]".
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// At the commas that are outside of brackets.
std::vector<std::string> split_host_list(std::string_view list);

inline constexpr std::size_t most_host_names = 100'000; // that one list may stand for

// "node-[0-2,7],x" as names, with the zeros of "[08-10]" kept. Brackets with a colon in them are an IPv6
// address, and stay. Errors: config, with message and hint but without where.
Result<std::vector<std::string>> read_host_list(std::string_view list);
// The same where nobody is told why not.
std::optional<std::vector<std::string>> expand_host_list(std::string_view list);

// Names as a list that is expanded to the same names in the same order, as Slurm prints it: neighbours that
// differ only in the number at their end, which goes up, stand in one pair of brackets.
std::string host_list(std::span<const std::string> names);

// Whether brackets in it are a range, and not an IPv6 address.
bool has_range(std::string_view text);

// host_list() in about so many columns: "node-[0-2,7], … 54 more".
std::string short_host_list(std::span<const std::string> names, std::size_t columns);

// For a sentence: "node-0, node-1", of more than four "node-[0-61]".
std::string list_names(std::span<const std::string> names);
// The same, name by name: "node-0, node-1 and 60 more", of more than `most`.
std::string first_names(std::span<const std::string> names, std::size_t most);

} // namespace dockdist
