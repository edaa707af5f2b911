// What a host hands on to another one's engine as a tar: the same bytes as those that the client knows the
// digest of, made again out of the files that are here.
#pragma once

#include "shared/core/result.hpp"
#include "shared/core/ustar.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dockdist::node {

// The toolkit in `folder`, as scripts/make-toolkit writes it: what is below bin, lib and libexec; the link
// bin/dockdist-init, which completes a toolkit, is the last. Errors: node (something there that no toolkit
// has, or none is there).
Result<std::vector<UstarEntry>> toolkit_entries(const std::string& folder);

// A relay's image (shared/wire/relay_image.hpp), whose root is `folder`.
Result<std::vector<UstarEntry>> relay_image_entries(const std::string& folder);

std::int64_t tar_size(const std::vector<UstarEntry>& entries);

// Copies a toolkit, its last entry last. What is there of an earlier time is replaced, each file at once.
Status copy_toolkit(const std::string& from, const std::string& to);

} // namespace dockdist::node
