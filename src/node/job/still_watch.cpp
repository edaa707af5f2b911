#include "node/job/still_watch.hpp"

#include <algorithm>
#include <utility>

namespace dockdist::node {
namespace {

constexpr int looks_before_suspicion = 3;
constexpr std::int64_t idle_percent = 10; // of a processor, for each rank: what watches and keeps alive takes

} // namespace

void StillWatch::begin() {
    end();
    heard_ms_ = idle_from_ms_ = loop_.now_ms();
    before_.reset();
    told_ = Level::moves;
    if (suspect_ms_ > 0) {
        timer_ = loop_.after(suspect_ms_ / looks_before_suspicion, [this] { look(); });
    }
}

void StillWatch::end() {
    loop_.cancel(timer_);
}

void StillWatch::heard() {
    heard_ms_ = loop_.now_ms();
    if (std::exchange(told_, Level::moves) != Level::moves) {
        on_event({.type = wire::JobEvent::Type::goes_on});
    }
}

void StillWatch::look() {
    const auto period_ms = suspect_ms_ / looks_before_suspicion;
    timer_ = loop_.after(period_ms, [this] { look(); });
    const auto now = loop_.now_ms();
    const auto silent_ms = now - heard_ms_;
    if (silent_ms < period_ms) {
        before_.reset();
        return;
    }
    const Reading reading{.at_ms = now, .cpu_ms = cpu_ms_()};
    const auto ranks = static_cast<std::int64_t>(std::max<std::size_t>(ranks_(), 1));
    const bool idle =
        before_ && (reading.cpu_ms - before_->cpu_ms) * 100 <= (now - before_->at_ms) * idle_percent * ranks;
    idle_from_ms_ = idle ? std::min(idle_from_ms_, before_->at_ms) : now;
    before_ = reading;
    const bool still = silent_ms >= suspect_ms_ && now - idle_from_ms_ >= 2 * period_ms;
    const auto level = still                                        ? Level::still
                       : silent_ms >= suspect_ms_ + suspect_ms_ / 2 ? Level::silent
                                                                    : Level::moves;
    if (level > told_) {
        told_ = level;
        on_event({.type = wire::JobEvent::Type::still});
    } else if (level == Level::silent) {
        told_ = level; // it computes again: once it does not, that is told anew
    }
}

} // namespace dockdist::node
