// Files of the user's own in their home: read whole, and replaced in one step.
#pragma once

#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace dockdist::user_files {

// not_found for ENOENT, else internal.
Error error_of(const std::filesystem::path& path, int number);

Result<std::string> read(const std::filesystem::path& path);
std::string read_or_empty(const std::filesystem::path& path);

// shared/core/new_file.hpp, and on the disk when it returns.
Status replace(const std::filesystem::path& path, std::string_view text, mode_t mode);

// 0700, where there are none.
Status make_folders(const std::filesystem::path& path);

// Held while it lives; where no lock can be had, writers are on their own.
class WriterLock {
public:
    explicit WriterLock(const std::filesystem::path& folder);

private:
    Fd file_;
};

} // namespace dockdist::user_files
