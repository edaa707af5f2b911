// Takes a tar apart while it comes: each file goes to a file of its own, with its digest.
#pragma once

#include "client/image/growing_files.hpp"
#include "client/image/saved_image.hpp"
#include "shared/core/result.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace dockdist {

// Reads a tar from a descriptor to its end, and writes each regular file to `folder`/N: no name in the tar
// becomes a path. The result is by name in the tar; links are there under their own names. Blocks; `growing`
// is told as it goes. Errors: protocol (no tar), internal (the disk).
Result<std::map<std::string, SavedBlob>> take_tar_apart(int from, const std::filesystem::path& folder,
                                                        GrowingFiles& growing);

} // namespace dockdist
