// Whether anything moves in a job's part: what is written, what its processes take of the processors, and
// whether the main threads of its ranks run at all. Nothing is asked of a rank for it.
#pragma once

#include "node/system/loop.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace dockdist::node {

class StillWatch {
public:
    static constexpr std::int64_t unknown_runs = -1;
    struct Reading {
        std::int64_t cpu_ms = 0; // that the part's processes have taken of processors so far
        std::size_t ranks = 0;
        std::int64_t runs = unknown_runs; // how often a main thread has been given a processor so far
    };
    // suspect_ms 0: nothing is watched.
    StillWatch(Loop& loop, std::int64_t suspect_ms, std::function<Reading()> read)
        : loop_(loop), suspect_ms_(suspect_ms), read_(std::move(read)) {}
    ~StillWatch() { end(); }
    StillWatch(const StillWatch&) = delete;
    StillWatch& operator=(const StillWatch&) = delete;

    // still: for suspect_ms nothing was written, and next to nothing computed; or nothing was written for
    // half as long again, whatever was computed: who waits for a GPU or a peer may spin. Or for half as long
    // again next to nothing was computed, and no main thread has run, whatever was written: that was another
    // thread, such as one that says every minute that it is alive. goes_on: it is not so any more.
    std::function<void(wire::JobEvent)> on_event{};

    void begin(); // of an attempt
    void end();
    void heard(); // something was written

private:
    enum class Level { moves, silent, still };
    void look();
    void read(std::int64_t now);
    void go_on();

    Loop& loop_;
    std::int64_t suspect_ms_;
    std::function<Reading()> read_;
    Loop::Timer timer_ = 0;
    std::int64_t heard_ms_ = 0;
    std::int64_t idle_from_ms_ = 0;  // since then it has computed nothing
    std::int64_t rests_from_ms_ = 0; // and no main thread has run
    std::int64_t read_at_ms_ = 0;
    std::optional<Reading> before_{}; // then
    bool rests_ = false;              // for so long that what is written counts no more
    Level told_ = Level::moves;
};

} // namespace dockdist::node
