// A poll loop: descriptors and deadlines with their callbacks. One thread; callbacks may add and remove
// freely.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <poll.h>

namespace dockdist::node {

class Loop {
public:
    using OnReady = std::function<void(short events)>;
    using Timer = std::uint64_t;

    // The descriptor is the caller's; forget() it before it is closed.
    void watch(int fd, short events, OnReady on_ready);
    void want(int fd, short events);
    void forget(int fd);

    Timer after(std::int64_t milliseconds, std::function<void()> on_time);
    void cancel(Timer timer); // one that has fired or was cancelled is fine

    // Called once after each round of callbacks.
    void after_each_round(std::function<void()> callback) { after_round_ = std::move(callback); }

    void run(); // until stop()
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
    void fire_timers();

    std::map<int, Watch> watches_{};
    std::map<Timer, Deadline> timers_{};
    std::function<void()> after_round_{};
    std::uint64_t next_ = 1;
    bool stopped_ = false;
};

} // namespace dockdist::node
