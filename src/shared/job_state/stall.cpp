// JobStateMachine's watch over the silence of its parts, and over its service.
#include "shared/core/exit_codes.hpp"
#include "shared/diagnosis/verdict.hpp"
#include "shared/job_state/job_state_machine.hpp"
#include "shared/job_state/job_text.hpp"

#include <utility>

namespace dockdist {
namespace {

constexpr std::int64_t longest_report_ms = 60000;

} // namespace

void JobStateMachine::silent(std::size_t part, int attempt) {
    if (speaks_of_now(attempt) && !is_spare(part)) {
        parts_[part].silent = true;
        if (!first_silent_) {
            first_silent_ = part;
        }
    }
}

void JobStateMachine::speaks(std::size_t part, int attempt) {
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

void JobStateMachine::is_ready(std::size_t part, int attempt, const std::string& address) {
    if (speaks_of_now(attempt) && ready_at_ != address && phase_ == Phase::running) {
        ready_at_ = address;
        note(Notice::Kind::ready, settings_.parts[part].node, ready_text(address));
    }
}

void JobStateMachine::reported(std::size_t part, int attempt, std::vector<wire::RankStack> ranks) {
    if (speaks_of_now(attempt)) {
        parts_[part].reported = true;
        parts_[part].stacks = std::move(ranks);
    }
}

bool JobStateMachine::all_running(bool Part::* said) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!(parts_[i].*said) && runs(i)) {
            return false;
        }
    }
    return true;
}

bool JobStateMachine::runs(std::size_t part) const {
    return !parts_[part].ended && !parts_[part].gone && !is_spare(part);
}

// Each part knows its own silence. One that spoke and has ended since counts for the others too.
std::optional<std::int64_t> JobStateMachine::stalled_from_ms() const {
    if (settings_.stall_ms == 0 || !first_silent_ || !all_running(&Part::silent)) {
        return std::nullopt;
    }
    return spoke_at_ms_ == 0 ? 0 : spoke_at_ms_ + settings_.stall_ms;
}

// A job that stands still is asked once why; what is written later makes it one that goes on.
std::vector<JobStateMachine::Order> JobStateMachine::watch_silence(std::int64_t now_ms) {
    if (std::exchange(something_spoke_, false)) {
        spoke_at_ms_ = now_ms;
    }
    const auto from_ms = stalled_from_ms();
    if (!from_ms || now_ms < *from_ms) {
        return {};
    }
    if (!reports_until_ms_) {
        reports_until_ms_ = now_ms + longest_report_ms;
        verdict_is_told_ = false;
        note(Notice::Kind::stalled, "", stall_text(settings_, settings_.parts[*first_silent_].node));
        std::vector<Order> orders;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (runs(i)) {
                orders.push_back({i, {.type = wire::JobCommand::Type::report, .attempt = attempt_}});
            }
        }
        return orders;
    }
    const bool all = all_running(&Part::reported);
    if (all || now_ms >= *reports_until_ms_) {
        has_reported(all);
    }
    return {};
}

// Who is silent because another one has not come is no cause; by what only some have told nobody is judged.
void JobStateMachine::has_reported(bool all) {
    HangVerdict verdict;
    std::size_t part = *first_silent_;
    if (all) {
        std::vector<LocatedStack> ranks;
        std::vector<std::size_t> parts;
        const auto commands = wire::command_ranks(settings_);
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const auto command = commands.find(settings_.parts[i].node);
            for (auto& stack : parts_[i].stacks) {
                if (stack.rank < 0 && command != commands.end()) {
                    stack.rank = command->second;
                }
                ranks.push_back({settings_.parts[i].node, &stack});
                parts.push_back(i);
            }
        }
        verdict = judge(ranks);
        part = verdict.ranks.empty() ? part : parts[verdict.ranks.front()];
    }
    const bool told = std::exchange(verdict_is_told_, true);
    if (verdict.kind != HangVerdict::Kind::none && !told) {
        note(Notice::Kind::stalled, "", verdict.text + (verdict.hint.empty() ? "" : "; " + verdict.hint));
    }
    if (settings_.stop_stalled) {
        fail(part, {.code = exit_codes::timed_out,
                    .advice = verdict.hint,
                    .finding = silence_text(settings_) + (verdict.text.empty() ? "" : ": " + verdict.text)});
    }
}

} // namespace dockdist
