#include "shared/job_state/job_state_machine.hpp"

#include "shared/core/exit_codes.hpp"
#include "shared/job_state/job_text.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

constexpr std::int64_t longest_backoff_ms = 30000;

} // namespace

JobStateMachine::JobStateMachine(wire::JobPolicy settings, Relaunch relaunch, std::int64_t lease_ms)
    : settings_(std::move(settings)), relaunch_(std::move(relaunch)), lease_ms_(lease_ms),
      parts_(settings_.parts.size()) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        parts_[i].gone = settings_.parts[i].lost;
    }
}

bool JobStateMachine::speaks_of_now(int attempt) {
    if (attempt > attempt_ && !own_) { // after a take-over it is one that the other parts never began
        enter_attempt(attempt);
    }
    return attempt == attempt_;
}

void JobStateMachine::enter_attempt(int attempt) {
    attempt_ = attempt;
    failure_.reset();
    first_done_.reset();
    ready_at_.clear();
    something_spoke_ = false;
    spoke_at_ms_ = 0;
    first_silent_.reset();
    reports_until_ms_.reset();
    suspicion_ = {};
    idle_from_ms_ = 0;
    idle_is_told_ = false;
    rest_told_ = false;
    for (auto& part : parts_) {
        part = {.gone = part.gone, .runs_until_ms = part.runs_until_ms};
    }
    phase_ = Phase::running;
}

void JobStateMachine::hear(std::size_t part, const wire::JobEvent& event) {
    using Type = wire::JobEvent::Type;
    switch (event.type) {
    case Type::started:
        return started(part, event.attempt);
    case Type::rank_failed:
        return rank_failed(part, event.attempt, event.failure);
    case Type::rank_done:
        return rank_done(part, event.attempt, event.rank);
    case Type::silent:
        return silent(part, event.attempt);
    case Type::speaks:
        return speaks(part, event.attempt);
    case Type::idle:
        return idle(part, event.attempt, event.gpus);
    case Type::busy:
        return busy(part, event.attempt);
    case Type::reported:
        return reported(part, event.attempt, event.ranks);
    case Type::still:
        return still(part, event.attempt);
    case Type::goes_on:
        return goes_on(part, event.attempt);
    case Type::examined:
        return examined(part, event.attempt, event.ranks, event.ras, event.node);
    case Type::ranks_gone:
        return ranks_gone(part, event.attempt);
    case Type::ready:
        return is_ready(part, event.attempt, event.address);
    case Type::ended:
        return ended(part, event.attempt, event.result);
    case Type::prepared:
    case Type::turn:
    case Type::detached:
    case Type::exited:
    case Type::error:
        return;
    }
}

void JobStateMachine::started(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].started = true;
    }
}

void JobStateMachine::rank_failed(std::size_t part, int attempt, const wire::JobFailure& failure) {
    if (speaks_of_now(attempt)) {
        fail(part, failure);
    }
}

void JobStateMachine::ended(std::size_t part, int attempt, const wire::JobResult& result) {
    if (!speaks_of_now(attempt) || parts_[part].ended) {
        return;
    }
    parts_[part].started = true;
    parts_[part].ended = true;
    something_spoke_ = something_ended_ = true;
    take_result(part, result);
}

void JobStateMachine::ranks_gone(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].ranks_gone = true;
    }
}

void JobStateMachine::exited(std::size_t part, const wire::JobResult& result) {
    auto& state = parts_[part];
    if (state.gone) {
        state.runs_until_ms = 0; // it was passed over, and says that it has ended
        return;
    }
    (void)speaks_of_now(result.attempt);
    state.gone = true;
    const bool left = result.reason == "lease" || result.reason == "shutdown" || result.reason == "lost";
    if (left && goes_on_without(part, leave_text(result.reason))) {
        return;
    }
    // Somebody else has ended it, or its lease: then the others are not to go on without it.
    part_missing_ = part_missing_ || (result.stopped && phase_ != Phase::stopping && phase_ != Phase::over);
    if (!state.ended) {
        state.started = true;
        state.ended = true;
        something_spoke_ = something_ended_ = true;
        take_result(part, result);
    }
}

bool JobStateMachine::lost(std::size_t part, const std::string& why, std::optional<std::int64_t> heard_ms,
                           std::optional<wire::JobFailure> failure) {
    auto& state = parts_[part];
    state.gone = true;
    state.runs_until_ms = heard_ms ? ranks_end_ms(*heard_ms, lease_ms_, settings_.grace_ms) : 0;
    if (goes_on_without(part, why)) {
        return false;
    }
    const bool matters = phase_ != Phase::over || !state.ended;
    part_missing_ = part_missing_ || matters;
    state.ended = true;
    if (matters && failure && !failure_ && interrupts_ == 0) {
        failure_ = std::move(failure);
        failure_->node = settings_.parts[part].node;
    }
    return matters;
}

void JobStateMachine::take_over(std::size_t own, std::size_t former, int attempt, const std::string& why,
                                std::int64_t now_ms) {
    enter_attempt(attempt);
    own_ = own;
    parts_may_differ_ = true;
    const auto heard_ms = now_ms - lease_ms_;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (i == former || settings_.parts[i].lost) {
            parts_[i].runs_until_ms = ranks_end_ms(heard_ms, lease_ms_, settings_.grace_ms);
        }
    }
    const wire::JobFailure failure{
        .node = settings_.parts[former].node, .code = exit_codes::own_failure, .finding = why};
    if (!settings_.parts[former].lost && lost(former, why, heard_ms, failure)) {
        return;
    }
    if (attempt_ < settings_.max_restarts) {
        members_changed_ = true; // also where it was spare
    } else if (!members_changed_) {
        failure_ = failure;
    }
}

void JobStateMachine::interrupted() {
    ++interrupts_;
}

void JobStateMachine::take_result(std::size_t part, const wire::JobResult& result) {
    parts_[part].ranks = result.ranks;
    parts_[part].rank_numbers = result.rank_numbers;
    if (!result.failures.empty()) {
        fail(part, first_of(result.failures));
    } else if (result.code != 0 && !result.stopped && !settings_.parts[part].hosts_remote_ranks) {
        fail(part, {.code = result.code, .signal = result.signal});
    }
}

bool JobStateMachine::leaders_ended() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!settings_.parts[i].hosts_remote_ranks && !parts_[i].ended && !settings_.parts[i].lost) {
            return false;
        }
    }
    return true;
}

bool JobStateMachine::all_started() const {
    return std::ranges::all_of(parts_, [](const Part& part) { return part.started || part.gone; });
}

bool JobStateMachine::all_gone() const {
    return std::ranges::all_of(parts_, &Part::gone);
}

bool JobStateMachine::alone(std::size_t part) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (i != part && !parts_[i].gone) {
            return false;
        }
    }
    return true;
}

bool JobStateMachine::may_restart() const {
    return interrupts_ == 0 && !part_missing_ && !hopeless_ && attempt_ < settings_.max_restarts;
}

std::vector<JobStateMachine::Order> JobStateMachine::tell_all(const wire::JobCommand& command) {
    std::vector<Order> orders;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!parts_[i].gone) {
            orders.push_back({i, command});
        }
    }
    return orders;
}

std::vector<JobStateMachine::Order> JobStateMachine::stop_all() {
    const int wanted = interrupts_ >= 2 ? 2 : 1;
    phase_ = Phase::stopping;
    if (stops_told_ >= wanted) {
        return {};
    }
    stops_told_ = wanted;
    const wire::JobCommand command{.type = wire::JobCommand::Type::stop,
                                   .grace_ms = wanted == 2 ? 0 : settings_.grace_ms,
                                   .first = failure_};
    auto orders = tell_all(command);
    if (failure_ && interrupts_ == 0 && !orders.empty() && !std::exchange(stop_is_told_, true)) {
        note_failure(Notice::Kind::ending, stop_text(*failure_));
    }
    return orders;
}

std::int64_t JobStateMachine::backoff_ms() const {
    return std::min(settings_.backoff_ms << std::min(attempt_, 16), longest_backoff_ms);
}

std::vector<JobStateMachine::Order> JobStateMachine::halt_all() {
    if (failure_) {
        note_failure(Notice::Kind::failed, restart_text(*failure_, attempt_ + 1, backoff_ms(), settings_));
    }
    phase_ = Phase::halting;
    for (auto& part : parts_) {
        part.ended = false; // also those that have ended sweep up, and say so again
    }
    return tell_all({.type = wire::JobCommand::Type::halt,
                     .grace_ms = settings_.grace_ms,
                     .attempt = attempt_,
                     .takes_over = std::exchange(parts_may_differ_, false)});
}

std::vector<JobStateMachine::Order> JobStateMachine::begin_all() {
    enter_attempt(attempt_ + 1);
    auto orders = tell_all({.type = wire::JobCommand::Type::begin, .attempt = attempt_});
    if (!std::exchange(members_changed_, false)) {
        return orders;
    }
    const auto starts = relaunch_(settings_);
    if (!starts) {
        const auto& first = settings_.parts[static_cast<std::size_t>(settings_.members.front())].node;
        failure_ = {.node = first, .code = exit_codes::own_failure, .finding = starts.error().message};
        return stop_all();
    }
    settings_ = starts->front().policy;
    for (auto& order : orders) {
        order.command.start = (*starts)[order.part];
    }
    return orders;
}

// Once no rank is left anywhere, whoever has ended the parts.
std::vector<JobStateMachine::Order> JobStateMachine::end_rest() {
    const auto waits = [](const Part& part) { return part.ranks_gone && !part.gone; };
    const bool all = std::ranges::all_of(
        parts_, [](const Part& part) { return part.ranks_gone || part.ended || part.gone; });
    if (rest_told_ || !all || std::ranges::none_of(parts_, waits)) {
        return {};
    }
    rest_told_ = true;
    return tell_all({.type = wire::JobCommand::Type::rest, .attempt = attempt_});
}

std::vector<JobStateMachine::Order> JobStateMachine::decide(std::int64_t now_ms) {
    if (auto orders = end_rest(); !orders.empty()) {
        return orders;
    }
    if (phase_ == Phase::stopping || interrupts_ > 0 || part_missing_) {
        return stop_all();
    }
    switch (phase_) {
    case Phase::running:
        if (auto orders = watch_silence(now_ms); !orders.empty()) {
            return orders;
        }
        watch_idleness(now_ms);
        if (auto orders = watch_hang(now_ms); !orders.empty() || members_changed_) {
            if (members_changed_) {
                std::ranges::move(halt_all(), std::back_inserter(orders));
            }
            return orders;
        }
        if (failure_ && may_restart()) {
            return halt_all();
        }
        if (failure_) {
            return stop_all();
        }
        if (leaders_ended()) {
            phase_ = Phase::over;
            return tell_all({.type = wire::JobCommand::Type::over});
        }
        return {};
    case Phase::halting:
        if (std::ranges::all_of(parts_, [](const Part& part) { return part.ended || part.gone; })) {
            phase_ = Phase::pausing;
            begin_at_ms_ = now_ms + backoff_ms();
            tell_wait(now_ms);
        }
        return {};
    case Phase::pausing:
        tell_wait(now_ms);
        if (now_ms < begin_at_ms_ || !may_run(now_ms)) {
            return {};
        }
        return begin_all();
    case Phase::over:
    case Phase::stopping:
        break;
    }
    return {};
}

std::optional<std::int64_t> JobStateMachine::wake_at_ms() const {
    if (phase_ == Phase::pausing) {
        return std::max(begin_at_ms_, ranks_gone_ms());
    }
    if (phase_ != Phase::running) {
        return std::nullopt;
    }
    const auto stall = !reports_until_ms_       ? stalled_from_ms()
                       : settings_.stop_stalled ? reports_until_ms_
                                                : std::nullopt;
    const auto idle = idle_is_told_ ? std::nullopt : idle_since_ms();
    std::optional<std::int64_t> first = failure_ ? std::optional<std::int64_t>(0) : std::nullopt;
    for (const auto& each : {stall, idle, look_at_ms()}) {
        first = first && each ? std::min(*first, *each) : each ? each : first;
    }
    return first;
}

void JobStateMachine::note(Notice::Kind kind, std::string node, std::string text) {
    notices_.push_back({.kind = kind, .node = std::move(node), .text = std::move(text)});
}

void JobStateMachine::note_failure(Notice::Kind kind, const std::string& text) {
    note(kind, failure_->finding.empty() ? failure_->node : "", text);
}

std::vector<JobStateMachine::Notice> JobStateMachine::take_notices() {
    return std::exchange(notices_, {});
}

} // namespace dockdist
