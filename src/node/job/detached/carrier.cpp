#include "node/job/detached/carrier.hpp"

#include "shared/job_state/job_text.hpp"

#include <algorithm>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t longest_tick_ms = 1000;
constexpr std::int64_t longest_goodbye_ms = 3000; // as long as what runs has to end; PID 1 waits 5 s for both

} // namespace

Carrier::Carrier(Loop& loop, Settings settings, Fd links, Listener listener)
    : loop_(loop), settings_(std::move(settings)), listener_(std::move(listener)),
      links_(loop, std::move(links), settings_.scratch, settings_.policy.parts.size()),
      succession_(settings_.own, settings_.policy, settings_.attempt, settings_.lease_ms,
                  loop.now_ms() + link_login_ms) {
    links_.on_greeting = [this](const wire::LinkGreeting& greeting) { return judge(greeting); };
    links_.on_linked = [this](std::size_t part) {
        if (coordinator_) {
            coordinator_->heard_of(part);
        }
        ping(part);
        if (coordinator_) {
            coordinator_->linked(part);
        }
    };
    links_.on_heard = [this](std::size_t part) {
        if (coordinator_) {
            coordinator_->heard_of(part);
        }
    };
    links_.on_line = [this](std::size_t part, const std::string& line) { hear(part, line); };
    links_.after_lines = [this] { settle(); };
}

Carrier::~Carrier() {
    loop_.cancel(timer_);
}

void Carrier::begin() {
    if (succession_.role() == Succession::Role::coordinator) {
        term_ = succession_.term();
        lead();
    }
    tick();
}

void Carrier::lead() {
    coordinator_.emplace(loop_, links_, succession_.record().policy, settings_.own, settings_.lease_ms);
    coordinator_->on_order = listener_.on_order;
    coordinator_->on_note = listener_.on_note;
    coordinator_->may_act = [this] { return !over_ && succession_.may_act(loop_.now_ms()); };
    coordinator_->on_gone = [this](std::size_t part) { succession_.gone(part); };
}

void Carrier::take_over() {
    const auto& parts = succession_.record().policy.parts;
    const auto& former = parts[succession_.former()].node;
    const auto why =
        succession_.former_resigned() ? resigned_text(former) : silent_node_text(former, settings_.lease_ms);
    listener_.on_note("dockdist: " + takes_over_text(parts[settings_.own].node, former));
    lead();
    for (std::size_t part = 0; part < parts.size(); ++part) {
        ping(part);
    }
    coordinator_->take_over(succession_.former(), succession_.latest_attempt(), why);
}

MemberLinks::Verdict Carrier::judge(const wire::LinkGreeting& greeting) {
    using enum Succession::Answer;
    const bool is_lost = coordinator_ && coordinator_->is_gone(greeting.part);
    switch (over_ ? not_now : is_lost ? lost : succession_.greet(greeting, loop_.now_ms())) {
    case welcome:
        return {.welcome = true};
    case lost: // the job has gone on without it
        return {.farewell = wire::job_command_line({.type = wire::JobCommand::Type::stop})};
    case newer_term:
        return {.farewell = wire::link_ping({.term = succession_.term(), .number = loop_.now_ms()})};
    case not_now:
        break;
    }
    return {};
}

void Carrier::ping(std::size_t part) {
    if (coordinator_ && !coordinator_->pings(part)) {
        return;
    }
    links_.send(part, wire::link_ping(succession_.ping(part, loop_.now_ms())));
}

void Carrier::hear(std::size_t part, const std::string& line) {
    if (wire::is_link_pong(line)) {
        const auto pong = wire::parse_link_pong(line, settings_.policy.parts.size());
        if (pong && over_ && pong->number >= resigned_ms_) {
            links_.drop(part);
            look_who_has_heard();
        } else if (pong) {
            succession_.hear(part, *pong, loop_.now_ms());
        }
        return;
    }
    const auto event = wire::parse_job_event(line);
    if (event && coordinator_) {
        coordinator_->hear(part, *event);
    }
}

std::optional<std::string> Carrier::hear_ping(const std::string& line) {
    const auto ping = wire::parse_link_ping(line, settings_.policy.parts.size());
    if (!ping || over_) {
        return std::nullopt;
    }
    const auto pong = succession_.hear(*ping, loop_.now_ms());
    settle();
    return pong ? std::optional(wire::link_pong(*pong)) : std::nullopt;
}

void Carrier::hear_own(const wire::JobEvent& event) {
    succession_.is_in_attempt(event.attempt);
    if (coordinator_) {
        coordinator_->hear_own(event);
    }
}

void Carrier::stop_members(std::int64_t grace_ms, int signal) {
    if (coordinator_) {
        coordinator_->stop_members(grace_ms, signal);
    }
}

void Carrier::resign() {
    if (over_ || !succession_.may_be_succeeded()) {
        return;
    }
    over_ = true;
    if (!coordinator_) {
        return links_.drop_all();
    }
    resigned_ms_ = loop_.now_ms();
    const wire::LinkPing ping{
        .term = succession_.term(), .number = resigned_ms_, .leads = true, .resigns = true};
    for (std::size_t part = 0; part < settings_.policy.parts.size(); ++part) {
        links_.send(part, wire::link_ping(ping));
    }
}

void Carrier::when_heard(std::function<void()> heard) {
    heard_ = std::move(heard);
    look_who_has_heard();
}

void Carrier::look_who_has_heard() {
    const bool waits = over_ && !links_.empty() && loop_.now_ms() - resigned_ms_ < longest_goodbye_ms;
    if (!waits && heard_) {
        std::exchange(heard_, {})();
    }
}

void Carrier::tick() {
    timer_ = loop_.after(std::clamp<std::int64_t>(settings_.lease_ms / 10, 20, longest_tick_ms),
                         [this] { tick(); });
    if (over_) {
        return look_who_has_heard();
    }
    succession_.tick(loop_.now_ms());
    if (succession_.role() != Succession::Role::member) {
        for (std::size_t part = 0; part < settings_.policy.parts.size(); ++part) {
            ping(part);
        }
    }
    if (coordinator_) {
        coordinator_->find_lost();
    }
    settle();
}

// What the succession has come to is done.
void Carrier::settle() {
    if (over_) {
        return;
    }
    if (succession_.role() == Succession::Role::over) {
        resign(); // where it led, nobody need wait for its lease
        over_ = true;
        return listener_.on_over();
    }
    if (!std::exchange(silence_is_told_, succession_.is_searching()) && silence_is_told_) {
        listener_.on_silence();
    }
    if (term_ != succession_.term()) {
        follow();
    }
    if (succession_.role() == Succession::Role::coordinator && !coordinator_) {
        take_over();
    }
    if (coordinator_) {
        coordinator_->decide();
        succession_.write(coordinator_->state().settings(), coordinator_->state().attempt());
    }
}

void Carrier::follow() {
    term_ = succession_.term();
    if (succession_.role() == Succession::Role::member) {
        links_.drop_all(); // who has dialled has to go on too
        listener_.on_coordinator(Listener::Target{.part = succession_.coordinator(), .term = term_});
    } else {
        listener_.on_coordinator(std::nullopt);
    }
}

} // namespace dockdist::node
