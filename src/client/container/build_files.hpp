// A folder that an image is built from, as BuildKit asks for it: first what there is, then the files that it
// lacks.
#pragma once

#include "shared/core/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dockdist {

struct BuildFile {
    std::string name{};     // from the folder on: "src/a.py"
    std::uint32_t mode = 0; // st_mode: a folder, a regular file or a link
    std::uint64_t size = 0; // of a file
    std::int64_t time = 0;  // of the last change, nanoseconds since 1970
    std::string target{};   // of a link
    bool operator==(const BuildFile&) const = default;
};

class BuildFiles {
public:
    BuildFiles() = default;
    BuildFiles(const BuildFiles&) = delete;
    BuildFiles& operator=(const BuildFiles&) = delete;
    virtual ~BuildFiles() = default;

    // A folder before what is in it, and there by the bytes of the names.
    virtual const std::vector<BuildFile>& list() const = 0;
    // Up to `size` bytes of a regular file of list(); "" at its end. Blocks. Errors bear the file as `where`.
    virtual Result<std::string> read(std::size_t index, std::uint64_t offset, std::size_t size) = 0;
};

} // namespace dockdist
