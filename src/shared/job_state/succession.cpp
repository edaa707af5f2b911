#include "shared/job_state/succession.hpp"

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

struct Count {
    std::size_t of = 0, all = 0;
};

Count count_votes(const wire::JobRecord& record, const std::vector<bool>& parts, bool with_leaving) {
    Count count;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool leaves = std::ranges::find(record.leaving, static_cast<int>(i)) != record.leaving.end();
        if (!record.policy.parts[i].lost || (with_leaving && leaves)) {
            ++count.all;
            count.of += parts[i] ? 1 : 0;
        }
    }
    return count;
}

// Between one term without a coordinator and the next: an ssh login has to fit into it.
std::int64_t term_ms(std::int64_t lease_ms) {
    return lease_ms / 4 + 2000;
}

// How long a part looks for a successor until it ends.
std::int64_t search_ms(std::int64_t lease_ms) {
    return 2 * lease_ms + 10000;
}

} // namespace

bool is_majority(const wire::JobRecord& record, const std::vector<bool>& parts) {
    const auto after = count_votes(record, parts, false);
    const auto before = count_votes(record, parts, true);
    return 2 * after.of > after.all && 2 * before.of > before.all;
}

bool is_half(const wire::JobRecord& record, const std::vector<bool>& parts) {
    const auto after = count_votes(record, parts, false);
    const auto before = count_votes(record, parts, true);
    return 2 * after.of >= after.all && 2 * before.of >= before.all;
}

Succession::Succession(std::size_t own, wire::JobPolicy policy, int attempt, std::int64_t lease_ms,
                       std::int64_t now_ms)
    : own_(own), lease_ms_(lease_ms), record_{.attempt = attempt, .policy = std::move(policy)},
      peers_(record_.policy.parts.size()),
      role_(wire::coordinator_part(record_.policy) == own ? Role::coordinator : Role::member),
      term_(static_cast<std::int64_t>(wire::coordinator_part(record_.policy))),
      former_(wire::coordinator_part(record_.policy)), heard_ms_(now_ms), entered_ms_(now_ms),
      attempt_(attempt) {
    record_.version.term = term_;
}

std::size_t Succession::coordinator_of(std::int64_t term) const {
    return static_cast<std::size_t>(term) % peers_.size();
}

bool Succession::may_be_succeeded() const {
    std::vector<bool> others(peers_.size(), true);
    others[former_] = false;
    return !record_.policy.relaunch.empty() && is_majority(record_, others);
}

bool Succession::may_act(std::int64_t now_ms) const {
    // Of a job that ends with any of its nodes nobody takes over.
    return role_ == Role::coordinator &&
           (record_.policy.relaunch.empty() || is_half(record_, with_me(now_ms)));
}

std::vector<bool> Succession::with_me(std::int64_t now_ms) const {
    std::vector<bool> parts(peers_.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const auto& peer = peers_[i];
        parts[i] = i == own_ || peer.gone || (peer.acked_ms && now_ms - *peer.acked_ms < lease_ms_);
    }
    return parts;
}

int Succession::latest_attempt() const {
    int latest = std::max(attempt_, record_.attempt);
    for (const auto& peer : peers_) {
        latest = std::max(latest, peer.attempt);
    }
    return latest;
}

void Succession::enter(std::int64_t term, std::int64_t now_ms) {
    term_ = term;
    role_ = coordinator() == own_ ? Role::candidate : Role::member;
    entered_ms_ = now_ms;
    peers_.assign(peers_.size(), {});
}

void Succession::enter_next_term(std::int64_t now_ms) {
    auto next = term_ + 1;
    for (std::size_t tried = 1; tried < peers_.size(); ++tried, ++next) {
        const auto part = coordinator_of(next);
        if (part != former_ && !record_.policy.parts[part].lost) {
            break;
        }
    }
    enter(next, now_ms);
}

void Succession::tick(std::int64_t now_ms) {
    switch (role_) {
    case Role::coordinator:
        if (!may_act(now_ms) && now_ms - entered_ms_ >= lease_ms_) { // it has a lease to find the others
            role_ = Role::over;
        }
        return;
    case Role::member:
    case Role::candidate:
        return search(now_ms);
    case Role::over:
        return;
    }
}

void Succession::search(std::int64_t now_ms) {
    if (now_ms - heard_ms_ < lease_ms_) {
        return;
    }
    if (!may_be_succeeded() || now_ms - heard_ms_ >= lease_ms_ + search_ms(lease_ms_)) {
        role_ = Role::over;
        return;
    }
    if (!std::exchange(searching_, true)) {
        return enter_next_term(now_ms);
    }
    if (now_ms - entered_ms_ >= term_ms(lease_ms_)) {
        return enter_next_term(now_ms);
    }
}

std::optional<wire::LinkPong> Succession::hear(const wire::LinkPing& ping, std::int64_t now_ms) {
    if (role_ == Role::over || role_ == Role::coordinator) {
        return std::nullopt;
    }
    if (ping.term > term_ && searching_) {
        enter(ping.term, now_ms);
        return std::nullopt; // what has told it has another one's place, perhaps: it is dialled anew
    }
    if (ping.term != term_ || role_ != Role::member) {
        return std::nullopt;
    }
    if (ping.leads) {
        heard_ms_ = now_ms;
        searching_ = false;
        former_ = coordinator();
        former_resigned_ = ping.resigns;
        if (ping.record && ping.record->version > record_.version) {
            record_ = *ping.record;
        }
        if (ping.resigns && may_be_succeeded()) {
            heard_ms_ = now_ms - lease_ms_;
        }
    }
    wire::LinkPong pong{.term = term_,
                        .number = ping.number,
                        .leads = ping.leads,
                        .attempt = attempt_,
                        .version = record_.version};
    if (ping.wants_record) {
        pong.record = record_;
    }
    return pong;
}

Succession::Answer Succession::greet(const wire::LinkGreeting& greeting, std::int64_t now_ms) {
    if (greeting.part >= peers_.size() || greeting.part == own_ || role_ == Role::over) {
        return Answer::not_now;
    }
    if (record_.policy.parts[greeting.part].lost && !searching_) {
        return Answer::lost;
    }
    if (greeting.term > term_ && searching_ && coordinator_of(greeting.term) == own_) {
        enter(greeting.term, now_ms);
    }
    if (greeting.term < term_) {
        return searching_ || role_ == Role::coordinator ? Answer::newer_term : Answer::not_now;
    }
    return greeting.term == term_ && role_ != Role::member ? Answer::welcome : Answer::not_now;
}

wire::LinkPing Succession::ping(std::size_t part, std::int64_t now_ms) {
    wire::LinkPing ping{.term = term_, .number = now_ms, .leads = role_ == Role::coordinator};
    const auto& peer = peers_[part];
    if (role_ == Role::candidate) {
        ping.wants_record = is_newer(peer);
    } else if (ping.leads && peer.version < record_.version) {
        ping.record = record_;
    }
    return ping;
}

void Succession::hear(std::size_t part, const wire::LinkPong& pong, std::int64_t now_ms) {
    if (pong.term != term_ || (role_ != Role::candidate && role_ != Role::coordinator) ||
        pong.number > now_ms) {
        return;
    }
    auto& peer = peers_[part];
    peer.voted = true;
    peer.version = pong.version;
    peer.attempt = pong.attempt;
    if (role_ == Role::coordinator) {
        if (pong.leads) {
            peer.acked_ms = std::max(pong.number, peer.acked_ms.value_or(pong.number));
        }
        return settle();
    }
    if (pong.record && pong.record->version > record_.version) {
        record_ = *pong.record;
    }
    try_to_win(now_ms);
}

void Succession::try_to_win(std::int64_t now_ms) {
    std::vector<bool> voters(peers_.size());
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (peers_[i].voted && is_newer(peers_[i])) {
            return; // the next ping asks for it
        }
        voters[i] = i == own_ || peers_[i].voted;
    }
    if (!is_majority(record_, voters)) {
        return;
    }
    if (const auto last = coordinator_of(record_.version.term); last != own_) {
        former_ = last;
    }
    role_ = Role::coordinator;
    entered_ms_ = now_ms;
    searching_ = false;
    record_.version = {term_, record_.version.revision + 1};
}

void Succession::gone(std::size_t part) {
    peers_[part].gone = true;
}

void Succession::write(const wire::JobPolicy& policy, int attempt) {
    bool changed = attempt != record_.attempt || policy.members != record_.policy.members;
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        if (policy.parts[i].lost && !record_.policy.parts[i].lost) {
            record_.leaving.push_back(static_cast<int>(i));
            changed = true;
        }
    }
    if (changed) {
        record_.policy = policy;
        record_.attempt = attempt;
        ++record_.version.revision;
        settle();
    }
}

// Parts that are lost give up their vote when this is known to enough parts for no other to be elected
// without it.
void Succession::settle() {
    std::vector<bool> knows(peers_.size());
    for (std::size_t i = 0; i < peers_.size(); ++i) {
        knows[i] = i == own_ || peers_[i].version == record_.version;
    }
    if (!record_.leaving.empty() && is_majority(record_, knows)) {
        record_.leaving.clear();
        ++record_.version.revision;
    }
}

} // namespace dockdist
