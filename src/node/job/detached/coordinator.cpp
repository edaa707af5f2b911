#include "node/job/detached/coordinator.hpp"

#include "shared/core/exit_codes.hpp"
#include "shared/job_state/job_end.hpp"
#include "shared/job_state/job_text.hpp"
#include "shared/launch/relaunch.hpp"

#include <algorithm>
#include <utility>

namespace dockdist::node {

Coordinator::Coordinator(Loop& loop, MemberLinks& links, wire::JobPolicy settings, std::size_t own,
                         std::int64_t lease_ms)
    : loop_(loop), links_(links), state_(std::move(settings), relaunch, lease_ms), own_(own),
      lease_ms_(lease_ms), members_(state_.settings().parts.size()) {
    for (std::size_t part = 0; part < members_.size(); ++part) {
        members_[part].last_heard_ms = loop_.now_ms() + link_login_ms;
        members_[part].gone = state_.settings().parts[part].lost;
    }
}

void Coordinator::take_over(std::size_t former, int attempt, const std::string& why) {
    members_[former].gone = true;
    state_.take_over(own_, former, attempt, why, loop_.now_ms());
}

void Coordinator::heard_of(std::size_t part) {
    members_[part].last_heard_ms = loop_.now_ms();
    members_[part].unanswered_ms.reset();
}

void Coordinator::linked(std::size_t part) {
    heard_of(part);
    if (const auto order = members_[part].order) {
        order_member(part, *order);
    }
}

bool Coordinator::pings(std::size_t part) {
    auto& member = members_[part];
    const auto now = loop_.now_ms();
    if (member.unanswered_ms && now - *member.unanswered_ms >= word_ms(lease_ms_) / 2) {
        return false;
    }
    member.unanswered_ms = member.unanswered_ms.value_or(now);
    member.told_ms = now;
    return true;
}

void Coordinator::order_member(std::size_t part, const wire::JobCommand& command) {
    members_[part].order = command;
    members_[part].told_ms = loop_.now_ms();
    links_.send(part, wire::job_command_line(command));
}

void Coordinator::hear(std::size_t part, const wire::JobEvent& event) {
    if (members_[part].gone) {
        return;
    }
    if (event.type != wire::JobEvent::Type::exited) {
        return state_.hear(part, event);
    }
    members_[part].gone = true;
    on_gone(part);
    state_.exited(part, event.result);
}

void Coordinator::hear_own(const wire::JobEvent& event) {
    if (event.type != wire::JobEvent::Type::exited) {
        state_.hear(own_, event);
        decide();
    }
}

void Coordinator::stop_members(std::int64_t grace_ms, int signal) {
    const wire::JobCommand command{
        .type = wire::JobCommand::Type::stop, .grace_ms = grace_ms, .signal = signal};
    for (std::size_t part = 0; part < members_.size(); ++part) {
        order_member(part, command);
    }
}

// Orders may make the own part report at once, from within.
void Coordinator::decide() {
    if (deciding_ || !may_act()) {
        return;
    }
    deciding_ = true;
    for (auto orders = state_.decide(loop_.now_ms()); !orders.empty();
         orders = state_.decide(loop_.now_ms())) {
        tell_notices();
        for (const auto& order : orders) {
            if (order.part == own_) {
                order_own(order.command);
            } else {
                order_member(order.part, order.command);
            }
        }
    }
    deciding_ = false;
    tell_notices();
    settle_outcome();
}

// The own part stays until it is the last one: it holds what the others have to say.
void Coordinator::order_own(const wire::JobCommand& command) {
    using Type = wire::JobCommand::Type;
    if (command.type == Type::stop) {
        last_own_order_ = {.type = Type::over};
        return on_order({.type = Type::halt, .grace_ms = command.grace_ms, .attempt = state_.attempt()});
    }
    if (command.type == Type::over) {
        last_own_order_ = command;
        return;
    }
    on_order(command);
}

void Coordinator::settle_outcome() {
    if (!last_own_order_ || own_is_told_ || !state_.alone(own_)) {
        return;
    }
    own_is_told_ = true;
    auto command = *last_own_order_;
    command.first = final_failure(state_);
    on_order(command);
}

void Coordinator::find_lost() {
    const auto now = loop_.now_ms();
    for (std::size_t part = 0; part < members_.size() && may_act(); ++part) {
        auto& member = members_[part];
        if (part == own_ || member.gone || now - member.last_heard_ms < lease_ms_) {
            continue;
        }
        member.gone = true;
        links_.drop(part); // pings that come through after all would keep its part alive
        const auto why = silent_node_text(state_.settings().parts[part].node, lease_ms_);
        state_.lost(part, why, std::max(member.last_heard_ms, member.told_ms),
                    wire::JobFailure{.code = exit_codes::own_failure, .finding = why});
    }
}

void Coordinator::tell_notices() {
    for (const auto& notice : state_.take_notices()) {
        on_note("dockdist: " + (notice.node.empty() ? "" : notice.node + ": ") + notice.text);
    }
}

} // namespace dockdist::node
