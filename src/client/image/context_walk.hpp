// What of a build's folder is for the engine, in the order of a tar and of BuildKit alike.
#pragma once

#include "client/image/context_folder.hpp"
#include "shared/core/result.hpp"

#include <functional>
#include <string>
#include <sys/stat.h>

namespace dockdist {

struct ContextEntry {
    std::string name{}; // from the folder on
    struct stat status{};
    std::string target{}; // of a link
};

// Each folder, file and link that the rules leave, names sorted, a folder before what is in it; one that is
// left out itself comes when something below it does. An error of `take` ends it.
Status walk_context(ContextFolder& context, const std::function<Status(const ContextEntry&)>& take);

// Something that the build needs cannot be read (config).
Error unreadable_for_build(const std::string& path, int number);

} // namespace dockdist
