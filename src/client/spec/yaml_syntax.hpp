// What yaml-cpp's syntax errors mean to the person who wrote the file.
#pragma once

#include "client/spec/yaml_source.hpp"

#include <optional>

namespace YAML {
class Exception;
}

namespace dockdist {

YamlMistake explain(const YAML::Exception& error, const YamlSource& source);

// yaml-cpp 0.7 takes the end of the file for a closing quotation mark. `offset` is where the last scalar
// begins.
std::optional<YamlMistake> unclosed_quote(const YamlSource& source, std::size_t offset, Place place);

} // namespace dockdist
