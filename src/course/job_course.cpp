#include "course/job_course.hpp"

#include "core/units.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace dockdist {
namespace {

constexpr std::int64_t longest_backoff_ms = 30000;
constexpr std::int64_t longest_report_ms = 60000;

std::string silence(const wire::CourseSettings& settings) {
    return "no rank wrote anything for " +
           format_exact_duration(std::chrono::milliseconds(settings.stall_ms));
}

} // namespace

bool explains(const wire::RankFailure& rank, const wire::RankFailure& launcher) {
    return launcher.rank < 0 && rank.rank >= 0 && rank.signal != SIGTERM && rank.signal != SIGKILL;
}

std::string stall_words(const wire::CourseSettings& settings, const std::string& first_silent) {
    return silence(settings) + " (" + first_silent +
           " was the first to fall silent): what each is doing follows" +
           (settings.stop_stalled ? ", then the job is stopped" : "");
}

JobCourse::JobCourse(wire::CourseSettings settings)
    : settings_(std::move(settings)), parts_(settings_.parts.size()) {}

bool JobCourse::speaks_of_now(int attempt) {
    if (attempt > attempt_) {
        enter_attempt(attempt);
    }
    return attempt == attempt_;
}

void JobCourse::enter_attempt(int attempt) {
    attempt_ = attempt;
    failure_.reset();
    something_spoke_ = false;
    spoke_at_ms_ = 0;
    first_silent_.reset();
    reports_until_ms_.reset();
    for (auto& part : parts_) {
        part = {.gone = part.gone};
    }
    phase_ = Phase::running;
}

void JobCourse::started(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].started = true;
    }
}

void JobCourse::rank_failed(std::size_t part, int attempt, const wire::RankFailure& failure) {
    if (speaks_of_now(attempt)) {
        fail(part, failure);
    }
}

void JobCourse::ended(std::size_t part, int attempt, const wire::JobResult& result) {
    if (!speaks_of_now(attempt) || parts_[part].ended) {
        return;
    }
    parts_[part].started = true;
    parts_[part].ended = true;
    something_spoke_ = true;
    take_result(part, result);
}

void JobCourse::exited(std::size_t part, const wire::JobResult& result) {
    auto& state = parts_[part];
    if (state.gone) {
        return;
    }
    (void)speaks_of_now(result.attempt);
    state.gone = true;
    // Somebody else has ended it, or its lease: then the others are not to go on without it.
    part_missing_ = part_missing_ || (result.stopped && phase_ != Phase::stopping && phase_ != Phase::over);
    if (!state.ended) {
        state.started = true;
        state.ended = true;
        something_spoke_ = true;
        take_result(part, result);
    }
}

void JobCourse::silent(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].silent = true;
        if (!first_silent_) {
            first_silent_ = part;
        }
    }
}

void JobCourse::speaks(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].silent = false;
        something_spoke_ = true;
        first_silent_.reset();
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            parts_[i].reported = false;
            if (parts_[i].silent) {
                first_silent_ = i;
            }
        }
        reports_until_ms_.reset();
    }
}

void JobCourse::reported(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].reported = true;
    }
}

bool JobCourse::lost(std::size_t part, std::optional<wire::RankFailure> failure) {
    auto& state = parts_[part];
    const bool matters = phase_ != Phase::over || !state.ended;
    part_missing_ = part_missing_ || matters;
    state.gone = true;
    state.ended = true;
    if (matters && failure && !failure_ && interrupts_ == 0) {
        failure_ = JobFailure{settings_.parts[part].node, std::move(*failure)};
    }
    return matters;
}

void JobCourse::interrupted() {
    ++interrupts_;
}

void JobCourse::take_result(std::size_t part, const wire::JobResult& result) {
    parts_[part].ranks = result.ranks;
    if (!result.failures.empty()) {
        fail(part, result.failures.front());
    } else if (result.code != 0 && !result.stopped && !settings_.parts[part].supports) {
        fail(part, {.code = result.code, .signal = result.signal});
    }
}

void JobCourse::fail(std::size_t part, wire::RankFailure failure) {
    const auto& node = settings_.parts[part].node;
    if (failure_) {
        if (explains(failure, failure_->failure)) {
            failure_ = JobFailure{node, std::move(failure)};
        }
        return;
    }
    if (interrupts_ == 0 && (phase_ == Phase::running || phase_ == Phase::over)) {
        failure_ = JobFailure{node, std::move(failure)};
    }
}

bool JobCourse::leaders_ended() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!settings_.parts[i].supports && !parts_[i].ended) {
            return false;
        }
    }
    return true;
}

bool JobCourse::all_silent() const {
    return std::ranges::all_of(parts_, [](const Part& part) { return part.silent || !part.runs(); });
}

// Each part knows its own silence. One that spoke and has ended since counts for the others too.
std::optional<std::int64_t> JobCourse::stalled_from_ms() const {
    if (settings_.stall_ms == 0 || !first_silent_ || !all_silent()) {
        return std::nullopt;
    }
    return spoke_at_ms_ == 0 ? 0 : spoke_at_ms_ + settings_.stall_ms;
}

// A job that stands still is asked once why; what is written later makes it one that goes on.
std::vector<JobCourse::Order> JobCourse::watch_silence(std::int64_t now_ms) {
    if (std::exchange(something_spoke_, false)) {
        spoke_at_ms_ = now_ms;
    }
    const auto from_ms = stalled_from_ms();
    if (!from_ms || now_ms < *from_ms) {
        return {};
    }
    if (!reports_until_ms_) {
        reports_until_ms_ = now_ms + longest_report_ms;
        stall_ = settings_.parts[*first_silent_].node;
        std::vector<Order> orders;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (parts_[i].runs()) {
                orders.push_back({i, {.type = wire::JobCommand::Type::report, .attempt = attempt_}});
            }
        }
        return orders;
    }
    const bool all_reported =
        std::ranges::all_of(parts_, [](const Part& part) { return part.reported || !part.runs(); });
    if (settings_.stop_stalled && (all_reported || now_ms >= *reports_until_ms_)) {
        fail(*first_silent_, {.code = stall_code, .finding = silence(settings_)});
    }
    return {};
}

bool JobCourse::all_started() const {
    return std::ranges::all_of(parts_, &Part::started);
}

bool JobCourse::all_gone() const {
    return std::ranges::all_of(parts_, &Part::gone);
}

bool JobCourse::alone(std::size_t part) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (i != part && !parts_[i].gone) {
            return false;
        }
    }
    return true;
}

bool JobCourse::may_restart() const {
    return interrupts_ == 0 && !part_missing_ && attempt_ < settings_.max_restarts;
}

std::vector<JobCourse::Order> JobCourse::tell_all(const wire::JobCommand& command) {
    std::vector<Order> orders;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!parts_[i].gone) {
            orders.push_back({i, command});
        }
    }
    return orders;
}

std::vector<JobCourse::Order> JobCourse::stop_all() {
    const int wanted = interrupts_ >= 2 ? 2 : 1;
    phase_ = Phase::stopping;
    if (stops_told_ >= wanted) {
        return {};
    }
    stops_told_ = wanted;
    wire::JobCommand command{.type = wire::JobCommand::Type::stop,
                             .grace_ms = wanted == 2 ? 0 : settings_.grace_ms};
    if (failure_) {
        command.first_node = failure_->node;
        command.first = failure_->failure;
    }
    return tell_all(command);
}

std::vector<JobCourse::Order> JobCourse::decide(std::int64_t now_ms) {
    if (phase_ == Phase::stopping || interrupts_ > 0 || part_missing_) {
        return stop_all();
    }
    switch (phase_) {
    case Phase::running:
        if (auto orders = watch_silence(now_ms); !orders.empty()) {
            return orders;
        }
        if (failure_ && may_restart()) {
            const auto backoff = std::min(settings_.backoff_ms << std::min(attempt_, 16), longest_backoff_ms);
            restart_ = Restart{.attempt = attempt_ + 1, .because = *failure_, .in_ms = backoff};
            phase_ = Phase::halting;
            for (auto& part : parts_) {
                part.ended = false; // also those that have ended sweep up, and say so again
            }
            return tell_all(
                {.type = wire::JobCommand::Type::halt, .grace_ms = settings_.grace_ms, .attempt = attempt_});
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
        if (std::ranges::all_of(parts_, &Part::ended)) {
            phase_ = Phase::pausing;
            begin_at_ms_ =
                now_ms + std::min(settings_.backoff_ms << std::min(attempt_, 16), longest_backoff_ms);
        }
        return {};
    case Phase::pausing:
        if (now_ms < begin_at_ms_) {
            return {};
        }
        enter_attempt(attempt_ + 1);
        return tell_all({.type = wire::JobCommand::Type::begin, .attempt = attempt_});
    case Phase::over:
    case Phase::stopping:
        break;
    }
    return {};
}

std::optional<std::int64_t> JobCourse::wake_at_ms() const {
    if (phase_ == Phase::pausing) {
        return begin_at_ms_;
    }
    if (phase_ != Phase::running) {
        return std::nullopt;
    }
    if (!reports_until_ms_) {
        return stalled_from_ms();
    }
    return settings_.stop_stalled ? reports_until_ms_ : std::nullopt;
}

std::optional<JobCourse::Restart> JobCourse::take_restart() {
    return std::exchange(restart_, std::nullopt);
}

std::optional<std::string> JobCourse::take_stall() {
    return std::exchange(stall_, std::nullopt);
}

int JobCourse::wanted_ranks() const {
    int wanted = 0;
    for (const auto& part : settings_.parts) {
        wanted += part.ranks;
    }
    return wanted;
}

int JobCourse::missing_ranks_but(std::size_t part) const {
    if (failure_ || interrupts_ > 0 || part_missing_ || !alone(part) || !parts_[part].ended) {
        return 0;
    }
    int begun = 0;
    for (const auto& other : parts_) {
        begun += other.ranks;
    }
    return std::max(wanted_ranks() - begun, 0);
}

int JobCourse::missing_ranks() const {
    return all_gone() ? missing_ranks_but(0) : 0;
}

} // namespace dockdist
