// Root in a container has no CAP_SYS_PTRACE, so it may look into another user's process only with that user's
// file system ids.
#pragma once

#include <sys/types.h>

namespace dockdist::node {

// While it lives, this process looks into /proc/PID as the process's owner; nothing for who is not root.
class AsOwner {
public:
    explicit AsOwner(pid_t pid);
    ~AsOwner();
    AsOwner(const AsOwner&) = delete;
    AsOwner& operator=(const AsOwner&) = delete;

private:
    bool changed_ = false;
};

} // namespace dockdist::node
