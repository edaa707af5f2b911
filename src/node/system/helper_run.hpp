// A helper program beside a loop, where run_helper would hold the loop up.
#pragma once

#include "node/system/helper.hpp"
#include "node/system/loop.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace dockdist::node {

// Its stdout is read to the end (1 MiB at most), its stderr is dropped; after `limit_ms` it is ended, with
// code -1. It does without SIGCHLD, so there may be several, and Questions beside them; where somebody else
// reaps it first, its code is 0.
class HelperRun {
public:
    static constexpr std::int64_t no_limit = -1;
    // `when_done` is called from the loop, once; it may destroy this object. `input`: its stdin.
    HelperRun(Loop& loop, Helper helper, std::int64_t limit_ms, std::function<void(Finished)> when_done,
              const Fd& input = {});
    // From now on its output goes there as it comes, from the loop, and is not kept. It must not destroy this
    // object.
    void hear(std::function<void(std::string_view)> on_output) { on_output_ = std::move(on_output); }
    ~HelperRun(); // ends what still runs
    bool has_started() const { return pid_ != 0 || finished_.code >= 0; }
    HelperRun(const HelperRun&) = delete;
    HelperRun& operator=(const HelperRun&) = delete;

private:
    void read_output();
    void reap();
    void tell();

    Loop& loop_;
    std::function<void(Finished)> when_done_;
    std::function<void(std::string_view)> on_output_{};
    Finished finished_{};
    pid_t pid_ = 0; // 0: it has ended, or did not start
    Fd output_{};
    Loop::Timer limit_ = 0;
    Loop::Timer next_ = 0;
};

} // namespace dockdist::node
