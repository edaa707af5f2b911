// JSON values as YAML for people. Whatever reads YAML 1.1 or 1.2 gets the same values back: a text that
// some reader takes for something else (`no`, `1e3`, `12:30`) is quoted, lines stand as a literal block.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace dockdist {

// One document, without `---`. All texts in it are UTF-8.
std::string to_yaml(const nlohmann::ordered_json& value);

} // namespace dockdist
