#include "shared/core/program_path.hpp"

#include "shared/core/text.hpp"

#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {

std::string find_in_path(const std::string& name) {
    if (name.empty() || name.find('/') != std::string::npos) {
        return name;
    }
    const char* const folders = std::getenv("PATH");
    for (const auto& folder : split(folders != nullptr ? folders : "/bin:/usr/bin", ':')) {
        auto path = folder + "/" + name;
        struct stat status{};
        if (folder.starts_with('/') && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
            ::access(path.c_str(), X_OK) == 0) {
            return path;
        }
    }
    return {};
}

} // namespace dockdist
