// Where images and build contexts lie while they are on their way: below $TMPDIR, else /var/tmp, because
// /tmp is often memory.
#pragma once

#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"

#include <filesystem>
#include <string>

namespace dockdist {

// A folder of its own; the caller removes it.
Result<std::filesystem::path> make_temporary_folder();

// A file without a name, for reading and writing: it goes with its descriptor.
Result<Fd> make_temporary_file();

// Such a place fails: "cannot be used: No space left on device", with what to do.
Error temporary_error(const std::string& path, int number);

// $TMPDIR, else /var/tmp.
std::string temporary_place();

} // namespace dockdist
