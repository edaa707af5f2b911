// Files that somebody else may have written, each read through one descriptor that is judged first.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace dockdist {

struct FileText {
    std::string text{};
    struct stat status{}; // of the descriptor that it was read from
};

// `most` bytes at most: of a file that is larger as many. Never waits: a FIFO, a device, a socket and a
// folder are errors. Errors: not_found, internal, node; the message is the reason alone.
Result<FileText> read_file(const std::filesystem::path& path, std::size_t most);

// Nothing where it is not there, cannot be read, is no regular file or larger than 16 MiB.
std::optional<std::string> read_regular_file(const std::filesystem::path& path);

// Up to `size` bytes from where the file stands; empty at its end. Errors: node.
Result<std::string> read_piece(int file, std::size_t size);

} // namespace dockdist
