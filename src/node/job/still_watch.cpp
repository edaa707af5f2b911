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
    heard_ms_ = idle_from_ms_ = rests_from_ms_ = loop_.now_ms();
    before_.reset();
    rests_ = false;
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
    if (!rests_) {
        go_on();
    }
}

void StillWatch::go_on() {
    if (std::exchange(told_, Level::moves) != Level::moves) {
        on_event({.type = wire::JobEvent::Type::goes_on});
    }
}

void StillWatch::read(std::int64_t now) {
    const auto reading = read_();
    const auto ranks = static_cast<std::int64_t>(std::max<std::size_t>(reading.ranks, 1));
    const bool idle =
        before_ && (reading.cpu_ms - before_->cpu_ms) * 100 <= (now - read_at_ms_) * idle_percent * ranks;
    const bool rests = idle && reading.runs != unknown_runs && reading.runs == before_->runs;
    idle_from_ms_ = idle ? std::min(idle_from_ms_, read_at_ms_) : now;
    rests_from_ms_ = rests ? std::min(rests_from_ms_, read_at_ms_) : now;
    before_ = reading;
    read_at_ms_ = now;
}

void StillWatch::look() {
    const auto period_ms = suspect_ms_ / looks_before_suspicion;
    timer_ = loop_.after(period_ms, [this] { look(); });
    const auto now = loop_.now_ms();
    const auto long_ms = suspect_ms_ + suspect_ms_ / 2;
    const auto silent_ms = now - heard_ms_;
    read(now);
    const bool rested = std::exchange(rests_, now - rests_from_ms_ >= long_ms);
    if (rested && !rests_ && silent_ms < suspect_ms_) {
        go_on();
    }
    const bool still = silent_ms >= suspect_ms_ && now - idle_from_ms_ >= 2 * period_ms;
    const auto level = still || rests_ ? Level::still : silent_ms >= long_ms ? Level::silent : Level::moves;
    if (level > told_) {
        told_ = level;
        on_event({.type = wire::JobEvent::Type::still});
    } else if (level == Level::silent) {
        told_ = level; // it computes again: once it does not, that is told anew
    }
}

} // namespace dockdist::node
