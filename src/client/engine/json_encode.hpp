// types.hpp → the JSON that the engine is sent.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/container/types.hpp"

#include <string>
#include <utility>
#include <vector>

namespace dockdist {

std::string encode_container(const ContainerConfig& config);
std::string encode_exec(const ExecConfig& config);
std::string encode_volume(const std::string& name, const Labels& labels);
std::string encode_map(const std::map<std::string, std::string>& map); // "" when it is empty
std::string encode_list(const std::vector<std::string>& list);         // the same
// The `filters` parameter: {"label":["a=b"],…}; lists that are empty are left out.
std::string encode_filters(const std::vector<std::pair<std::string, std::vector<std::string>>>& filters);

} // namespace dockdist
