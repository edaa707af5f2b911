// What --env gives to every process.
#pragma once

#include "shared/core/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace dockdist {

// NAME=VALUE, or NAME alone, which takes its value from this process's environment.
Result<std::map<std::string, std::string>> own_variables(const std::vector<std::string>& settings);

} // namespace dockdist
