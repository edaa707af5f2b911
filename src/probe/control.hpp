// Who carries the probe, at the other end of stdin, and the deadline. A thread of its own reads the lines and
// ends the process when it must end, whatever CUDA or NCCL are doing in the meantime: at the end of stdin at
// once, and past the deadline when the main thread, which looks at the deadline too, is stuck in a call.
#pragma once

#include "probe/output.hpp"
#include "shared/core/result.hpp"

#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace dockdist::probe {

using Clock = std::chrono::steady_clock;

class Control {
public:
    // One a process: it is never destroyed.
    explicit Control(Output& output);

    void set_deadline(std::string where, std::chrono::milliseconds from_now);
    bool late() const;
    // What the probe is at, in words that go into the message when it is late: "all_reduce of 1024 bytes of
    // float".
    void doing(std::string what);
    Error lateness() const;

    Result<std::string> next_line();

    // The result is told, and what is left to do may hang: the process ends with this code before long, stdin
    // or not.
    void end_soon(int code);

private:
    void watch();
    void take(std::string_view bytes);
    bool read_more();
    void end_if_stuck();

    Output& output_;
    mutable std::mutex mutex_{};
    std::deque<std::string> lines_{};
    std::string partial_{};
    std::string where_{};
    std::string doing_ = "waiting for the order";
    std::chrono::milliseconds given_{};
    Clock::time_point deadline_ = Clock::time_point::max();
    std::optional<int> code_{}; // of end_soon()
};

} // namespace dockdist::probe
