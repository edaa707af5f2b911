// Files that somebody else writes, read whole.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace dockdist {

// Nothing where it is not there, cannot be read or is no regular file: reading a FIFO would wait.
std::optional<std::string> read_regular_file(const std::filesystem::path& path);

} // namespace dockdist
