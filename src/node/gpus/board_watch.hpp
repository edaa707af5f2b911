// Tells when the board of the host may say something else: it was replaced, or a participant is gone.
#pragma once

#include "node/system/loop.hpp"
#include "node/system/os.hpp"

#include <functional>
#include <sys/stat.h>

namespace dockdist::node {

// By inotify; where the kernel has no instance left for this user (128 are usual), it looks four times a
// second whether the board is another file, and every two seconds without that. Nothing wakes it while
// nothing happens, but for a look every 30 s.
class BoardWatch {
public:
    enum class Way { any, by_polling };
    BoardWatch(Loop& loop, std::function<void()> on_change, Way way = Way::any);
    ~BoardWatch();
    BoardWatch(const BoardWatch&) = delete;
    BoardWatch& operator=(const BoardWatch&) = delete;

    // Two calls of on_change are at least so far apart. Many wait, so those far behind in line look less
    // often while much is going on.
    void set_pause(std::int64_t milliseconds) { pause_ms_ = milliseconds; }

private:
    void hear();
    void poll();
    void call_within(std::int64_t milliseconds);
    void call();
    void call_by_and_by();

    Loop& loop_;
    std::function<void()> on_change_;
    Fd inotify_{};
    struct stat last_{};
    int polls_ = 0;
    std::int64_t pause_ms_ = 20;
    std::int64_t called_at_ms_ = 0;
    std::int64_t due_at_ms_ = 0; // while due_ is set
    Loop::Timer due_ = 0, again_ = 0, poll_ = 0, listen_ = 0, by_and_by_ = 0;
};

} // namespace dockdist::node
