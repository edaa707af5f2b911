// text → ClusterSpec, or every mistake at once.
#pragma once

#include "client/spec/cluster_spec.hpp"
#include "client/spec/inventory.hpp"
#include "shared/core/regular_file.hpp"
#include "shared/core/result.hpp"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace dockdist {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct LoadOptions {
    // false for commands that start nothing (down, status, logs, …): a secret that this machine does not hold
    // is no reason to refuse them. The secrets' values then stay empty.
    bool resolve_secrets = true;
    // The same of image.build.secrets, for those commands that may build; what is not to be had of them is
    // in BuildSpec::missing, and no error.
    bool resolve_build_secrets = false;
    // In place of the file's `hosts`: YAML, as the file would have it, or one item of the list. Empty: the
    // file's.
    std::string hosts{};
    // What has been read of the lists that `hosts` names with `from`; see LoadedSpec::sources.
    HostLists host_lists{};
};

struct LoadedSpec {
    ClusterSpec spec{};
    Errors errors{}; // kind config, where = "FILE:LINE:COLUMN", in the file's order, or "--hosts"; with any,
                     // the spec is meaningless
    Errors warnings{};                 // docker.sock or / mounted, …
    std::vector<HostSource> sources{}; // lists of hosts that are not in LoadOptions::host_lists: without them
                                       // hosts are missing. Read them, and load again
};

// `text` is the file's content, `file` its path for messages and for defaults (the cluster's name, relative
// paths). Reads nothing but the files that `secrets` name.
LoadedSpec load_spec(const std::string& text, const std::filesystem::path& file,
                     const Environment& environment, const LoadOptions& options = {});

// cluster.yaml in `start` or the nearest parent folder.
Result<std::filesystem::path> find_spec_file(const std::filesystem::path& start);

// A cluster.yaml as it was read, once: what is decided of it is decided of this.
struct SpecText : FileText {
    std::filesystem::path file{};
};
// Errors: config; it is not there, cannot be read, or is no regular file.
Result<SpecText> read_spec(const std::filesystem::path& file);

// read_spec() and load_spec(); a file that cannot be read is an error like any other in it.
LoadedSpec load_spec_file(const std::filesystem::path& file, const Environment& environment,
                          const LoadOptions& options = {});

} // namespace dockdist
