// The join that a client asks for on the container's own stdin, before the container is started.
#pragma once

#include "node/boot/join_stream.hpp"
#include "node/system/loop.hpp"
#include "node/system/process.hpp"

#include <sys/types.h>

namespace dockdist::node {

// Waits for one line, a JoinRequest, and runs `dockdist-init join` with the container's stdin and stdout.
// Nothing where the container has no stdin, or nobody writes there.
class FirstJoin {
public:
    explicit FirstJoin(Loop& loop);

    // Another join has begun: the client of this one is gone, whether its connection knows it or not.
    void yield_to(pid_t other);
    void on_exit(pid_t pid);

private:
    void hear();
    void start(const std::string& request);

    Loop& loop_;
    JoinStream client_;
    pid_t pid_ = 0;
};

} // namespace dockdist::node
