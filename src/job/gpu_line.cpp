#include "job/gpu_line.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

using State = wire::GpuTurn::State;

// A node that says that the job fits, and refuses it, must not be asked without a pause for ever. The first
// refusals are those of two jobs that come at once.
constexpr int refusals_without_pause = 2;
constexpr std::int64_t first_pause_ms = 100;
constexpr std::int64_t longest_pause_ms = 5000;

std::int64_t pause_after(int refusals) {
    std::int64_t pause = 0;
    for (int i = refusals_without_pause; i < refusals && pause < longest_pause_ms; ++i) {
        pause = pause == 0 ? first_pause_ms : 2 * pause;
    }
    return std::min(pause, longest_pause_ms);
}

} // namespace

bool GpuLine::Part::fits() const {
    return turn.state == State::fits || turn.state == State::taken;
}

template <class Is>
bool GpuLine::all(Is is) const {
    return std::ranges::all_of(parts_, [&](const Part& part) { return !part.takes || is(part); });
}

GpuLine::GpuLine(std::vector<wire::GpuTurn> opened) {
    for (auto& turn : opened) {
        const bool takes = turn.state != State::none;
        parts_.push_back({.turn = std::move(turn), .takes = takes});
    }
}

void GpuLine::hear(std::size_t part, wire::GpuTurn turn) {
    parts_[part].turn = std::move(turn);
}

void GpuLine::reopened(std::size_t part, wire::GpuTurn turn) {
    parts_[part].turn = std::move(turn);
    parts_[part].reopened = true;
}

bool GpuLine::has_to_wait() const {
    return phase_ == Phase::waiting &&
           all([&](const Part& part) { return part.is_current() && part.turn.number == number_; }) &&
           !all([](const Part& part) { return part.fits(); });
}

bool GpuLine::is_heard(std::size_t part) const {
    const auto& one = parts_[part];
    const bool has_taken = one.turn.state == State::taken && one.is_current();
    return one.takes && phase_ != Phase::taken && !(phase_ == Phase::taking && has_taken);
}

std::vector<wire::GpuTurn> GpuLine::turns() const {
    std::vector<wire::GpuTurn> turns;
    for (const auto& part : parts_) {
        turns.push_back(part.turn);
    }
    return turns;
}

void GpuLine::tell(Part& part, wire::JobCommand::Type type, std::vector<Order>& orders) {
    part.order = ++orders_;
    part.reopened = false;
    const auto index = static_cast<std::size_t>(&part - parts_.data());
    orders.push_back({index, {.type = type, .number = number_, .order = part.order}});
}

std::vector<GpuLine::Order> GpuLine::tell_all(wire::JobCommand::Type type) {
    std::vector<Order> orders;
    for (auto& part : parts_) {
        if (part.takes) {
            tell(part, type, orders);
        }
    }
    return orders;
}

std::vector<GpuLine::Order> GpuLine::line_up() {
    phase_ = number_ == 0 ? Phase::numbering : Phase::waiting;
    return tell_all(wire::JobCommand::Type::line);
}

std::vector<GpuLine::Order> GpuLine::tell_reopened() {
    std::vector<Order> orders;
    for (auto& part : parts_) {
        if (part.takes && part.reopened) {
            tell(part, wire::JobCommand::Type::line, orders);
        }
    }
    return orders;
}

std::vector<GpuLine::Order> GpuLine::decide(std::int64_t now_ms) {
    wake_at_ms_.reset();
    const auto current = [](const Part& part) { return part.is_current(); };
    switch (phase_) {
    case Phase::opened:
        if (all([](const Part& part) { return part.turn.state == State::taken; })) {
            phase_ = Phase::taken;
            return {};
        }
        return line_up();
    case Phase::numbering:
        if (auto orders = tell_reopened(); !orders.empty()) {
            return orders;
        }
        if (!all([&](const Part& part) { return current(part) && part.turn.number > 0; })) {
            return {};
        }
        for (const auto& part : parts_) {
            number_ = std::max(number_, part.takes ? part.turn.number : 0);
        }
        return line_up();
    case Phase::waiting:
        if (auto orders = tell_reopened(); !orders.empty()) {
            return orders;
        }
        if (!all([&](const Part& part) { return current(part) && part.fits(); })) {
            return {};
        }
        if (const auto take_at = refused_at_ms_ + pause_after(refusals_); now_ms < take_at) {
            wake_at_ms_ = take_at;
            return {};
        }
        phase_ = Phase::taking;
        return tell_all(wire::JobCommand::Type::take);
    case Phase::taking:
        if (!all([](const Part& part) {
                return !part.reopened && (!part.is_current() || part.turn.state == State::taken);
            })) {
            refusals_ = now_ms - refused_at_ms_ > 2 * longest_pause_ms ? 1 : refusals_ + 1;
            refused_at_ms_ = now_ms;
            return line_up();
        }
        if (all(current)) {
            phase_ = Phase::taken;
        }
        return {};
    case Phase::taken:
        return {};
    }
    return {};
}

} // namespace dockdist
