// A helper program beside a loop, where run_helper (process.hpp) would hold the loop up.
#pragma once

#include "node/system/environment.hpp"
#include "node/system/loop.hpp"
#include "node/system/process.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dockdist::node {

// Its stdout is read to the end (1 MiB at most), its stderr is dropped; after `limit_ms` it is ended, with
// code -1. It does without SIGCHLD, so there may be several, and Questions beside them.
class HelperRun {
public:
    // `when_done` is called from the loop, once; it may destroy this object. `input`: its stdin.
    HelperRun(Loop& loop, const std::string& path, std::vector<std::string> argv, Environment environment,
              std::int64_t limit_ms, std::function<void(Finished)> when_done, const Fd& input = {});
    ~HelperRun(); // ends what still runs
    HelperRun(const HelperRun&) = delete;
    HelperRun& operator=(const HelperRun&) = delete;

private:
    void read_output();
    void reap();
    void tell();

    Loop& loop_;
    std::function<void(Finished)> when_done_;
    Finished finished_{};
    pid_t pid_ = 0; // 0: it has ended, or did not start
    Fd output_{};
    Loop::Timer limit_ = 0;
    Loop::Timer next_ = 0;
};

} // namespace dockdist::node
