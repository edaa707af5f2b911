// What a job's processes are, where they are not all alike: "ps" → 2.
#pragma once

#include "shared/core/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

using Roles = std::map<std::string, int>;

// `words` ("ps=2") over the file's. usage errors, at --role.
Result<Roles> read_roles(const std::vector<std::string>& words, Roles file);
int role_count(const Roles& roles, std::string_view role, int otherwise);

} // namespace dockdist
