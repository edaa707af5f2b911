// The folder of a build, before anything is read of its files: what is asked of it for every builder.
#pragma once

#include "client/image/docker_ignore.hpp"
#include "shared/core/result.hpp"
#include "shared/tree/folder.hpp"

#include <string>
#include <string_view>

namespace dockdist {

struct ContextFolder {
    Folder root{};
    std::string path{};       // as errors call it
    std::string dockerfile{}; // "docker/Dockerfile", as the engine wants it
    std::string real_file{};  // the same where that is a link within the folder: what it leads to
    DockerIgnore rules{};     // of DOCKERFILE.dockerignore, else of .dockerignore
    bool own_rules = false;   // the former
};

// Errors: config: no such folder, no Dockerfile in it, a pattern that is none, a file that cannot be read.
Result<ContextFolder> open_context(const std::string& folder, std::string_view dockerfile);

} // namespace dockdist
