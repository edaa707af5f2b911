#include "shared/usage/idle_watch.hpp"

#include <utility>

namespace dockdist {

bool IdleWatch::begin(std::int64_t now_ms) {
    since_ms_ = now_ms;
    idle_ = idle_ms_ > 0 && gpus_ == 0;
    return idle_;
}

std::optional<bool> IdleWatch::hear(const Reading& reading) {
    if (idle_ms_ == 0 || gpus_ == 0) {
        return std::nullopt;
    }
    int resting = 0;
    for (const auto& value : reading.values) {
        resting += value.figure == wire::Figure::gpu_utilization && value.value <= 0 ? 1 : 0;
    }
    if (resting < gpus_) {
        since_ms_ = reading.at_ms;
        return std::exchange(idle_, false) ? std::optional(false) : std::nullopt;
    }
    const bool was_idle = idle_;
    idle_ = reading.at_ms - since_ms_ >= idle_ms_;
    return idle_ && !was_idle ? std::optional(true) : std::nullopt;
}

std::optional<std::int64_t> IdleWatch::idle_for_ms(std::int64_t now_ms) const {
    return idle_ && gpus_ > 0 ? std::optional(now_ms - since_ms_) : std::nullopt;
}

} // namespace dockdist
