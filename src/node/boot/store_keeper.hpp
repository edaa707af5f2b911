// PID 1's watch over the node's store (node/system/store.hpp): whose it is, and that it stays within bounds.
#pragma once

#include "node/system/loop.hpp"
#include "shared/core/fd.hpp"
#include "shared/core/result.hpp"

#include <sys/types.h>

namespace dockdist::node {

// What a join asks PID 1 for, until it has it. Errors: those of take_store(); conflict, where another
// container has not let go of the store in time.
Status await_store();

class StoreKeeper {
public:
    explicit StoreKeeper(Loop& loop) : loop_(loop) {}

    // For as long as this container lives; errors as take_store(). From then on `dockdist-init job prune`
    // runs now and then, and soon when the disk fills.
    Status take();
    void on_exit(pid_t pid);

private:
    void look();
    void prune();

    Loop& loop_;
    Fd store_{};
    pid_t pruning_ = 0; // 0: nobody does
    std::int64_t next_ms_ = 0, next_if_full_ms_ = 0;
};

} // namespace dockdist::node
