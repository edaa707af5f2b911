// What a relay's image is made of: dockdist-init, out of the toolkit, and the folder that an image's relay
// fills.
#pragma once

#include "core/result.hpp"

#include <span>
#include <string>
#include <string_view>

namespace dockdist {

inline constexpr int relay_account = 65534;           // nobody: user and group
inline constexpr const char* relay_folder = "/blobs"; // theirs, in the relay's image: so the volume there is

// An uncompressed tar. `toolkit_tar` is the toolkit's.
Result<std::string> relay_program(std::span<const char> toolkit_tar);

struct TarFolder {
    std::string name{};
    int owner = 0; // user and group; nobody else may enter
};
// A tar of one executable file, taken out of another tar (in memory) and given another name, and of an empty
// folder.
Result<std::string> tar_of_one(std::string_view tar, const std::string& name, const std::string& new_name,
                               const TarFolder& folder);

} // namespace dockdist
