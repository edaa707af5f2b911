// What an image is built from by BuildKit: a folder of this machine as it stands, of which the engine asks
// for what it has not had of an earlier build.
#pragma once

#include "client/container/build_files.hpp"
#include "shared/core/result.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace dockdist {

struct BuildFolders {
    std::map<std::string, std::shared_ptr<BuildFiles>> folders{}; // BuildConfig::folders
    std::string dockerfile{};                                     // BuildConfig::dockerfile
    std::string key{};                                            // BuildConfig::folder_key
};

// The same as BuildContext::pack has of the folder, but that the Dockerfile goes by itself, and with the rest
// only where the rules leave it there. Blocks; `stop` ends it (interrupted). Errors: those of open_context.
Result<BuildFolders> read_build_folder(const std::string& folder, std::string_view dockerfile,
                                       const std::atomic<bool>& stop);

} // namespace dockdist
