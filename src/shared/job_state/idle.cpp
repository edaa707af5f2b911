// JobStateMachine's watch over a job whose GPUs do nothing.
#include "shared/core/exit_codes.hpp"
#include "shared/job_state/job_state_machine.hpp"
#include "shared/job_state/job_text.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

// Who begins to listen is told all that was told before, one thing after the other: what was idle once may
// be busy again in the next line.
constexpr std::int64_t settled_after_ms = 2000;

} // namespace

void JobStateMachine::idle(std::size_t part, int attempt, int gpus) {
    if (speaks_of_now(attempt)) {
        parts_[part].idle = true;
        something_idled_ = true;
        parts_[part].gpus = gpus;
    }
}

void JobStateMachine::busy(std::size_t part, int attempt) {
    if (speaks_of_now(attempt)) {
        parts_[part].idle = false;
        idle_is_told_ = false;
    }
}

int JobStateMachine::gpus() const {
    int count = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        count += runs(i) ? parts_[i].gpus : 0;
    }
    return count;
}

// Each part knows of its own GPUs alone. Those of a part that has ended may have worked until then.
std::optional<std::int64_t> JobStateMachine::idle_since_ms() const {
    if (settings_.idle_ms == 0 || !all_running(&Part::idle) || gpus() == 0) {
        return std::nullopt;
    }
    return idle_from_ms_;
}

void JobStateMachine::watch_idleness(std::int64_t now_ms) {
    if (std::exchange(something_ended_, false)) {
        idle_from_ms_ = std::max(idle_from_ms_, now_ms + settings_.idle_ms);
    }
    if (std::exchange(something_idled_, false)) {
        idle_from_ms_ = std::max(idle_from_ms_, now_ms + settled_after_ms);
    }
    const auto since_ms = idle_since_ms();
    if (!since_ms || now_ms < *since_ms || std::exchange(idle_is_told_, true)) {
        return;
    }
    if (!settings_.stop_idle) {
        return note(Notice::Kind::idle, "", idle_text(settings_, gpus()));
    }
    const auto first = std::ranges::find_if(parts_, [](const Part& part) { return part.gpus > 0; });
    fail(static_cast<std::size_t>(first - parts_.begin()),
         {.code = exit_codes::timed_out, .finding = idleness_text(settings_, gpus())});
}

} // namespace dockdist
