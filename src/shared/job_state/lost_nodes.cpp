// JobStateMachine's spare nodes, and how and when it goes on without a lost one.
#include "shared/job_state/job_state_machine.hpp"
#include "shared/job_state/job_text.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {

std::int64_t word_ms(std::int64_t lease_ms) {
    constexpr std::int64_t longest_word_ms = 5000;
    return std::min(lease_ms, longest_word_ms);
}

std::int64_t ranks_end_ms(std::int64_t heard_ms, std::int64_t lease_ms, std::int64_t grace_ms) {
    return heard_ms + lease_ms + grace_ms + word_ms(lease_ms);
}

std::int64_t JobStateMachine::ranks_gone_ms() const {
    return parts_.empty() ? 0 : std::ranges::max(parts_, {}, &Part::runs_until_ms).runs_until_ms;
}

bool JobStateMachine::may_run(std::int64_t now_ms) const {
    return now_ms >= ranks_gone_ms();
}

// Where it is waited for longer than was said.
void JobStateMachine::tell_wait(std::int64_t now_ms) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        auto& part = parts_[i];
        if (part.runs_until_ms > std::max(begin_at_ms_, now_ms) && !std::exchange(part.wait_is_told, true)) {
            note(Notice::Kind::lost, settings_.parts[i].node,
                 wait_text(attempt_ + 1, part.runs_until_ms - now_ms, settings_));
        }
    }
}

bool JobStateMachine::is_spare(std::size_t part) const {
    const auto& members = settings_.members;
    return !members.empty() && !settings_.parts[part].lost &&
           std::ranges::find(members, static_cast<int>(part)) == members.end();
}

std::optional<std::size_t> JobStateMachine::first_spare() const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!parts_[i].gone && is_spare(i)) {
            return i;
        }
    }
    return std::nullopt;
}

// Decides it, where the settings allow it.
bool JobStateMachine::goes_on_without(std::size_t part, const std::string& why) {
    const auto& node = settings_.parts[part].node;
    auto& members = settings_.members;
    const bool ending = phase_ == Phase::over || phase_ == Phase::stopping;
    if (settings_.relaunch.empty() || members.empty() || settings_.parts[part].lost) {
        return false;
    }
    if (is_spare(part)) {
        settings_.parts[part].lost = true;
        if (!ending) {
            int spares = 0;
            for (std::size_t i = 0; i < parts_.size(); ++i) {
                spares += is_spare(i) && !parts_[i].gone ? 1 : 0;
            }
            note(Notice::Kind::lost, node,
                 loss_text({.then = Loss::Then::spare, .why = why, .left = spares}, settings_));
        }
        return true;
    }
    if (ending || interrupts_ > 0 || part_missing_) {
        return false;
    }
    const auto spare = first_spare();
    Loss loss{.why = why,
              .left = static_cast<int>(members.size()) - (spare ? 0 : 1),
              .restarts = phase_ != Phase::running || attempt_ < settings_.max_restarts,
              .attempt = attempt_ + 1,
              .in_ms = backoff_ms(),
              .surely_gone = parts_[part].runs_until_ms == 0};
    if (!loss.restarts || loss.left < std::max(settings_.min_nodes, 1)) {
        stop_is_told_ = true;
        note(Notice::Kind::lost, node, loss_text(loss, settings_));
        return false;
    }
    const auto place = std::ranges::find(members, static_cast<int>(part));
    if (spare) {
        loss.then = Loss::Then::replaced;
        loss.by = settings_.parts[*spare].node;
        *place = static_cast<int>(*spare);
    } else {
        loss.then = Loss::Then::left_out;
        members.erase(place);
    }
    settings_.parts[part].lost = true;
    members_changed_ = true;
    note(Notice::Kind::lost, node, loss_text(loss, settings_));
    return true;
}

} // namespace dockdist
