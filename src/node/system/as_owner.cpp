#include "node/system/as_owner.hpp"

#include <string>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {

AsOwner::AsOwner(pid_t pid) {
    struct stat status{};
    if (::geteuid() != 0 || ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) != 0 ||
        status.st_uid == 0) {
        return;
    }
    ::setfsgid(status.st_gid);
    ::setfsuid(status.st_uid);
    changed_ = true;
}

AsOwner::~AsOwner() {
    if (changed_) {
        ::setfsuid(0);
        ::setfsgid(::getegid());
    }
}

} // namespace dockdist::node
