// Writes the tar of a build's context; build_context.hpp says what is in it.
#pragma once

#include "core/result.hpp"
#include "image/docker_ignore.hpp"
#include "tree/folder.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace dockdist {

struct PackedSize {
    std::uint64_t files = 0; // regular ones; one with two names counts twice
    std::uint64_t bytes = 0; // of their content
    bool operator==(const PackedSize&) const = default;
};

// Told now and then what is packed so far; false ends the packing (interrupted).
using PackProgress = std::function<bool(PackedSize)>;

// To the open file `file`. `path` is what errors call the folder.
Result<PackedSize> write_context(Folder folder, const std::string& path, const DockerIgnore& rules, int file,
                                 const PackProgress& on_progress);

// Something that the build needs cannot be read (config).
Error unreadable_for_build(const std::string& path, int number);

} // namespace dockdist
