#include "node/system/loop.hpp"

#include <algorithm>
#include <vector>

namespace dockdist::node {

void Loop::watch(int fd, short events, OnReady on_ready) {
    watches_[fd] = Watch{.events = events, .generation = next_++, .on_ready = std::move(on_ready)};
}

void Loop::want(int fd, short events) {
    if (const auto found = watches_.find(fd); found != watches_.end()) {
        found->second.events = events;
    }
}

void Loop::forget(int fd) {
    watches_.erase(fd);
}

Loop::Timer Loop::after(std::int64_t milliseconds, std::function<void()> on_time) {
    const auto timer = next_++;
    timers_[timer] = Deadline{.at_ms = now_ms() + milliseconds, .on_time = std::move(on_time)};
    return timer;
}

void Loop::cancel(Timer timer) {
    timers_.erase(timer);
}

std::optional<std::int64_t> Loop::next_deadline_ms() const {
    const auto first =
        std::ranges::min_element(timers_, {}, [](const auto& timer) { return timer.second.at_ms; });
    return first == timers_.end() ? std::nullopt : std::optional(first->second.at_ms);
}

int Loop::timeout_ms() const {
    const auto next = next_deadline_ms();
    return next ? static_cast<int>(std::clamp<std::int64_t>(*next - now_ms(), 0, 3'600'000)) : -1;
}

bool Loop::fire_timers() {
    const auto now = now_ms();
    std::vector<Timer> due;
    for (const auto& [timer, deadline] : timers_) {
        if (deadline.at_ms <= now) {
            due.push_back(timer);
        }
    }
    for (const auto timer : due) {
        if (const auto found = timers_.find(timer); found != timers_.end()) {
            const auto on_time = std::move(found->second.on_time);
            timers_.erase(found);
            on_time();
        }
    }
    return !due.empty();
}

bool Loop::turn(int wait_ms) {
    std::vector<pollfd> descriptors;
    std::vector<std::uint64_t> generations;
    for (const auto& [fd, watch] : watches_) {
        descriptors.push_back({.fd = fd, .events = watch.events, .revents = 0});
        generations.push_back(watch.generation);
    }
    const int ready = ::poll(descriptors.data(), descriptors.size(), wait_ms);
    for (std::size_t i = 0; ready > 0 && i < descriptors.size() && !stopped_; ++i) {
        if (descriptors[i].revents == 0) {
            continue;
        }
        const auto found = watches_.find(descriptors[i].fd);
        if (found != watches_.end() && found->second.generation == generations[i]) {
            const auto on_ready = found->second.on_ready; // a copy: it may forget itself
            on_ready(descriptors[i].revents);
        }
    }
    const bool fired = !stopped_ && fire_timers();
    if (after_round_ && !stopped_) {
        after_round_();
    }
    return !stopped_ && (ready > 0 || fired);
}

void Loop::run() {
    stopped_ = false;
    while (!stopped_) {
        (void)turn(timeout_ms());
    }
}

} // namespace dockdist::node
