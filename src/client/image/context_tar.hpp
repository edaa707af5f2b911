// Writes the tar of a build's context; build_context.hpp says what is in it.
#pragma once

#include "client/image/context_folder.hpp"
#include "shared/core/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

struct PackedSize {
    std::uint64_t files = 0; // regular ones; one with two names counts twice
    std::uint64_t bytes = 0; // of their content
    bool operator==(const PackedSize&) const = default;
};

// Told now and then what is packed so far; false ends the packing (interrupted).
using PackProgress = std::function<bool(PackedSize)>;

using ContextFiles = std::vector<std::pair<std::string, std::string>>; // names and contents

// To the open file `file`; `more` are files beside, for their owner alone.
Result<PackedSize> write_context(ContextFolder context, const ContextFiles& more, int file,
                                 const PackProgress& on_progress);

} // namespace dockdist
