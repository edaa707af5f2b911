// What a relay's image is made of: dockdist-relay, out of the toolkit, and the folder that an image's relay
// fills.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/relay_image.hpp"

#include <span>
#include <string>
#include <string_view>

namespace dockdist {

using wire::relay_account;
using wire::relay_folder;

struct RelayProgram {
    std::string tar{};    // compressed by gzip, since many hosts get it from here: all engines take that
    std::string digest{}; // of the tar itself
};
// `toolkit_tar` is the toolkit's.
Result<RelayProgram> make_relay_program(std::span<const char> toolkit_tar);

struct TarFolder {
    std::string name{};
    int owner = 0; // user and group; nobody else may enter
};
// A tar of one executable file, taken out of another tar (in memory) and given another name, and of an empty
// folder.
Result<std::string> tar_of_one(std::string_view tar, const std::string& name, const std::string& new_name,
                               const TarFolder& folder);

} // namespace dockdist
