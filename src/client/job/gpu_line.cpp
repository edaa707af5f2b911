#include "client/job/gpu_line.hpp"

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

// Of the last of these; nothing where one has not said.
std::optional<std::int64_t> left_of(const std::vector<wire::GpuHold>& held) {
    std::int64_t longest = 0;
    for (const auto& hold : held) {
        if (hold.by.left_s == 0) {
            return std::nullopt;
        }
        longest = std::max(longest, hold.by.left_s);
    }
    return held.empty() ? std::nullopt : std::optional(longest);
}

} // namespace

bool GpuLine::Part::fits() const {
    return turn.state == State::fits || turn.state == State::taken;
}

// Of those that count: where the job stands, or what it takes.
template <class Is>
bool GpuLine::all(Is is) const {
    return std::ranges::all_of(targets_,
                               [&](std::size_t part) { return !parts_[part].takes || is(parts_[part]); });
}

GpuLine::GpuLine(std::vector<wire::GpuTurn> opened, Choice choice) : choice_(std::move(choice)) {
    for (auto& turn : opened) {
        const bool takes = turn.state != State::none;
        targets_.push_back(parts_.size());
        parts_.push_back({.turn = std::move(turn), .takes = takes});
    }
    choice_.domains.resize(parts_.size());
    if (!choice_.seats.empty()) {
        auto first = place(sites(), choice_.seats);
        first = first ? first : place_to_wait(sites(), choice_.seats);
        targets_ = first.value_or(Parts());
    }
}

void GpuLine::hear(std::size_t part, wire::GpuTurn turn) {
    parts_[part].turn = std::move(turn);
}

void GpuLine::reopened(std::size_t part, wire::GpuTurn turn) {
    parts_[part].turn = std::move(turn);
    parts_[part].reopened = parts_[part].in_line || choice_.seats.empty();
    if (!parts_[part].reopened) {
        parts_[part].order = 0; // it looks, as at first
    }
}

bool GpuLine::lost(std::size_t part) {
    parts_[part].gone = true;
    if (choice_.seats.empty() || !place_to_wait(sites(), choice_.seats)) {
        return false;
    }
    looks_again_ =
        looks_again_ || parts_[part].in_line || std::ranges::find(targets_, part) != targets_.end();
    return true;
}

bool GpuLine::has_to_wait() const {
    return phase_ == Phase::waiting &&
           all([&](const Part& part) { return part.is_current() && part.turn.number == number_; }) &&
           !all([](const Part& part) { return part.fits(); });
}

bool GpuLine::is_heard(std::size_t part) const {
    const auto& one = parts_[part];
    const bool has_taken = one.turn.state == State::taken && one.is_current();
    return one.takes && !one.gone && phase_ != Phase::taken && !(phase_ == Phase::taking && has_taken);
}

std::vector<wire::GpuTurn> GpuLine::turns() const {
    std::vector<wire::GpuTurn> turns;
    for (const auto& part : parts_) {
        turns.push_back(part.turn);
    }
    return turns;
}

// As they are by now. What a part has said before its last order counts for nothing.
std::vector<Site> GpuLine::sites() const {
    std::vector<Site> sites;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const auto& [turn, order, takes, reopened, gone, in_line] = parts_[i];
        const bool is_told = turn.order == order && !reopened && (!in_line || turn.number == number_);
        sites.push_back({.there = !gone,
                         .fits = !takes || (is_told && parts_[i].fits()),
                         .wanted = takes ? turn.wanted : 0,
                         .could = turn.could,
                         .free = turn.free,
                         .ahead = std::max(turn.place - 1, 0),
                         .left_s = left_of(turn.held),
                         .domains = choice_.domains[i]});
    }
    return sites;
}

GpuLine::Parts GpuLine::in_line() const {
    Parts parts;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i].in_line) {
            parts.push_back(i);
        }
    }
    return parts;
}

void GpuLine::tell(std::size_t index, wire::JobCommand::Type type, std::vector<Order>& orders) {
    auto& part = parts_[index];
    if (part.takes && !part.gone) {
        part.order = ++orders_;
        part.reopened = false;
        orders.push_back({index, {.type = type, .number = number_, .order = part.order}});
    }
}

std::vector<GpuLine::Order> GpuLine::tell_targets(wire::JobCommand::Type type) {
    std::vector<Order> orders;
    for (const auto part : targets_) {
        tell(part, type, orders);
    }
    return orders;
}

std::vector<GpuLine::Order> GpuLine::line_up() {
    phase_ = number_ == 0 ? Phase::numbering : Phase::waiting;
    for (const auto part : targets_) {
        parts_[part].in_line = parts_[part].takes;
    }
    return tell_targets(wire::JobCommand::Type::line);
}

std::vector<GpuLine::Order> GpuLine::tell_reopened() {
    std::vector<Order> orders;
    for (const auto part : targets_) {
        if (parts_[part].reopened) {
            tell(part, wire::JobCommand::Type::line, orders);
        }
    }
    return orders;
}

// Without a place anywhere, as at the beginning.
std::vector<GpuLine::Order> GpuLine::look_again() {
    looks_again_ = false;
    phase_ = Phase::opened;
    number_ = 0;
    std::vector<Order> orders;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        const bool is_target = std::ranges::find(targets_, i) != targets_.end();
        if (std::exchange(parts_[i].in_line, false) || is_target) {
            tell(i, wire::JobCommand::Type::look, orders);
        }
    }
    return orders;
}

std::vector<GpuLine::Order> GpuLine::open() {
    if (choice_.seats.empty()) {
        if (all([](const Part& part) { return part.turn.state == State::taken; })) {
            phase_ = Phase::taken;
            return {};
        }
        return line_up();
    }
    if (!all([](const Part& part) { return part.is_current(); })) {
        return {};
    }
    // Two that come at once may refuse each other everything: then the line has to say who is first.
    if (auto free = place(sites(), choice_.seats)) {
        targets_ = std::move(*free);
        return refusals_ < refusals_without_pause ? take(targets_) : line_up();
    }
    if (auto later = place_to_wait(sites(), choice_.seats)) {
        targets_ = std::move(*later);
        return line_up();
    }
    return {}; // too few are there: whoever has lost them says so
}

std::vector<GpuLine::Order> GpuLine::take(Parts parts) {
    targets_ = std::move(parts);
    phase_ = Phase::taking;
    auto orders = tell_targets(wire::JobCommand::Type::take);
    if (orders.empty()) { // there is nothing to take
        phase_ = Phase::taken;
    }
    return orders;
}

// After a refusal: where it stands in line it stands on.
std::vector<GpuLine::Order> GpuLine::give_back() {
    if (number_ == 0) {
        return look_again();
    }
    const auto asked = std::exchange(targets_, in_line());
    auto orders = line_up();
    for (const auto part : asked) {
        if (!parts_[part].in_line) {
            tell(part, wire::JobCommand::Type::look, orders);
        }
    }
    return orders;
}

std::vector<GpuLine::Order> GpuLine::decide(std::int64_t now_ms) {
    wake_at_ms_.reset();
    const auto current = [](const Part& part) { return part.is_current(); };
    if (looks_again_ && phase_ != Phase::taken) {
        return look_again();
    }
    switch (phase_) {
    case Phase::opened:
        return open();
    case Phase::numbering:
        if (auto orders = tell_reopened(); !orders.empty()) {
            return orders;
        }
        if (!all([&](const Part& part) { return current(part) && part.turn.number > 0; })) {
            return {};
        }
        for (const auto part : targets_) {
            number_ = std::max(number_, parts_[part].takes ? parts_[part].turn.number : 0);
        }
        return line_up();
    case Phase::waiting: {
        if (auto orders = tell_reopened(); !orders.empty()) {
            return orders;
        }
        std::optional<Parts> fits = targets_;
        if (!all([&](const Part& part) { return current(part) && part.fits(); })) {
            fits = choice_.seats.empty() ? std::nullopt : place(sites(), choice_.seats);
        }
        if (!fits) {
            return {};
        }
        if (const auto take_at = refused_at_ms_ + pause_after(refusals_); now_ms < take_at) {
            wake_at_ms_ = take_at;
            return {};
        }
        return take(std::move(*fits));
    }
    case Phase::taking:
        if (!all([](const Part& part) {
                return !part.reopened && (!part.is_current() || part.turn.state == State::taken);
            })) {
            refusals_ = now_ms - refused_at_ms_ > 2 * longest_pause_ms ? 1 : refusals_ + 1;
            refused_at_ms_ = now_ms;
            return give_back();
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
