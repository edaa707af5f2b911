// A poll loop: descriptors and deadlines with their callbacks. One thread; callbacks may add and remove
// freely.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/lease_clock.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <poll.h>
#include <utility>

namespace dockdist::node {

class Loop {
public:
    using OnReady = std::function<void(short events)>;
    using Timer = std::uint64_t;
    using Clock = std::function<std::int64_t()>; // milliseconds since any moment; never goes back

    // All that is done by the loop's time is done by this clock, leases among it: a test brings one that it
    // turns. Where the machine sleeps, what is due then is done late, by its sleep's time at most.
    explicit Loop(Clock clock = lease_clock_ms) : clock_(std::move(clock)) {}
    std::int64_t now_ms() const { return clock_(); }

    // The descriptor is the caller's; forget() it before it is closed.
    void watch(int fd, short events, OnReady on_ready);
    void want(int fd, short events);
    void forget(int fd);

    Timer after(std::int64_t milliseconds, std::function<void()> on_time);
    void cancel(Timer timer); // one that has fired or was cancelled is fine

    // Called once after each round of callbacks.
    void after_each_round(std::function<void()> callback) { after_round_ = std::move(callback); }

    void run(); // until stop()
    // One round: what is ready within `wait_ms` (-1: whenever that is), then what is due. False when that was
    // nothing, or the loop was stopped.
    bool turn(int wait_ms);
    std::optional<std::int64_t> next_deadline_ms() const;
    void stop() { stopped_ = true; }

private:
    struct Watch {
        short events = 0;
        std::uint64_t generation = 0; // tells a descriptor number that was closed and came again
        OnReady on_ready;
    };
    struct Deadline {
        std::int64_t at_ms = 0;
        std::function<void()> on_time;
    };
    int timeout_ms() const;
    bool fire_timers();

    Clock clock_;
    std::map<int, Watch> watches_{};
    std::map<Timer, Deadline> timers_{};
    std::function<void()> after_round_{};
    std::uint64_t next_ = 1;
    bool stopped_ = false;
};

} // namespace dockdist::node
