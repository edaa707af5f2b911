// text → ClusterSpec, or every mistake at once.
#pragma once

#include "core/result.hpp"
#include "spec/cluster_spec.hpp"

#include <functional>
#include <optional>
#include <string>

namespace dockdist {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct LoadedSpec {
    ClusterSpec spec{};
    Errors errors{};   // kind config, where = "FILE:LINE:COLUMN"; the spec is meaningless when there is one
    Errors warnings{}; // docker.sock or / mounted, …
};

// `text` is the file's content, `file` its path for messages and for defaults (the cluster's name).
LoadedSpec load_spec(const std::string& text, const std::filesystem::path& file, const Environment& environment);

// cluster.yaml in `start` or the nearest parent folder.
Result<std::filesystem::path> find_spec_file(const std::filesystem::path& start);

// Reads and loads; a file that cannot be read is an error of the same kind.
LoadedSpec load_spec_file(const std::filesystem::path& file, const Environment& environment);

} // namespace dockdist
