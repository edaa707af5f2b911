// The files that git tracks, read from a repository's index (gitformat-index(5), versions 2 to 4, with SHA-1
// or SHA-256). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// Their names from the work tree's own folder on, sorted, each once; a submodule's folder is one. Nothing:
// that is no index, or a damaged one.
std::optional<std::vector<std::string>> tracked_names(std::string_view index);

} // namespace dockdist
