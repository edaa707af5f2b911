// Whether anything moves in a job's part: what is written, and what its processes take of the processors.
// Nothing is asked of a rank for it, and while something is written nothing is read either.
#pragma once

#include "node/system/loop.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace dockdist::node {

class StillWatch {
public:
    // suspect_ms 0: nothing is watched. `cpu_ms`: what the part's processes have taken of processors so far;
    // `ranks`: how many ranks there are.
    StillWatch(Loop& loop, std::int64_t suspect_ms, std::function<std::int64_t()> cpu_ms,
               std::function<std::size_t()> ranks)
        : loop_(loop), suspect_ms_(suspect_ms), cpu_ms_(std::move(cpu_ms)), ranks_(std::move(ranks)) {}
    ~StillWatch() { end(); }
    StillWatch(const StillWatch&) = delete;
    StillWatch& operator=(const StillWatch&) = delete;

    // still: for suspect_ms nothing was written, and next to nothing computed; or nothing was written for
    // half as long again, whatever was computed: who waits for a GPU or a peer may spin. goes_on: something
    // is written again.
    std::function<void(wire::JobEvent)> on_event{};

    void begin(); // of an attempt
    void end();
    void heard(); // something was written

private:
    enum class Level { moves, silent, still };
    void look();

    Loop& loop_;
    std::int64_t suspect_ms_;
    std::function<std::int64_t()> cpu_ms_;
    std::function<std::size_t()> ranks_;
    Loop::Timer timer_ = 0;
    std::int64_t heard_ms_ = 0;
    std::int64_t idle_from_ms_ = 0; // since then it has computed nothing
    struct Reading {
        std::int64_t at_ms = 0, cpu_ms = 0;
    };
    std::optional<Reading> before_{};
    Level told_ = Level::moves;
};

} // namespace dockdist::node
