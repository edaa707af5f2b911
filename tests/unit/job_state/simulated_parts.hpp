// The parts of a detached job, each with its own view of who carries it, the ranks that they run, and a
// network that loses, delays and cuts what they say to each other.
#pragma once

#include "shared/job_state/job_state_machine.hpp"
#include "shared/job_state/succession.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dockdist::simulated {

using Role = Succession::Role;

inline constexpr std::int64_t lease_ms = 4000;
inline constexpr std::int64_t tick_ms = 400;
inline constexpr std::int64_t settled_ms = 2 * lease_ms + 12000; // a loss, a few terms, and a coordinator
inline constexpr std::int64_t grace_ms = 3000;
inline constexpr std::int64_t guard_ms = lease_ms * 5 / 4; // PID 1 ends the ranks of one that is frozen

inline wire::JobPolicy policy_of(std::size_t parts) {
    wire::JobPolicy policy{
        .max_restarts = 100, .backoff_ms = 1, .grace_ms = grace_ms, .min_nodes = 1, .relaunch = "{}"};
    for (std::size_t i = 0; i < parts; ++i) {
        policy.parts.push_back({.node = "node-" + std::to_string(i)});
        policy.members.push_back(static_cast<int>(i));
    }
    return policy;
}

inline Result<std::vector<wire::JobStart>> start_all(const wire::JobPolicy& policy) {
    return std::vector<wire::JobStart>(policy.parts.size(), {.policy = policy});
}

// The parts of a job and the network between them. A message takes some time, one over a cut way is lost, and
// one to a part that is frozen waits there. A coordinator that hears nothing of a part for the lease goes on
// without it, as it does in a job.
class Cluster {
public:
    explicit Cluster(std::size_t parts, unsigned seed = 1) : random_(seed), parts_(parts) {
        for (std::size_t i = 0; i < parts; ++i) {
            parts_[i].succession.emplace(i, policy_of(parts), 0, lease_ms, now);
            at(now + pick(0, tick_ms), [this, i] { tick(i); });
        }
    }

    void kill(std::size_t part) {
        parts_[part].alive = false;
        parts_[part].runs.reset();
    }
    void cut(std::size_t a, std::size_t b) { cuts_.insert(std::minmax(a, b)); }
    void mend(std::size_t a, std::size_t b) { cuts_.erase(std::minmax(a, b)); }
    void cut_off(std::size_t part) {
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            cut(part, i);
        }
    }
    void mend_all() { cuts_.clear(); }
    // Its ranks run on meanwhile.
    void freeze(std::size_t part, std::int64_t for_ms) {
        parts_[part].frozen_until = now + for_ms;
        at(now + guard_ms, [this, part] {
            if (!awake(part)) {
                parts_[part].runs.reset();
            }
        });
    }

    // At every moment of it, no two parts may decide, and no two attempts have ranks.
    void pass(std::int64_t milliseconds) {
        const auto end = now + milliseconds;
        while (!events_.empty() && std::get<0>(events_.begin()->first) <= end) {
            now = std::max(now, std::get<0>(events_.begin()->first));
            const auto happens = std::move(events_.begin()->second);
            events_.erase(events_.begin());
            happens();
            check();
        }
        now = end;
        check();
    }
    std::vector<std::size_t> deciders() const {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            if (awake(i) && of(i).may_act(now)) {
                found.push_back(i);
            }
        }
        return found;
    }
    const Succession& of(std::size_t part) const { return *parts_[part].succession; }
    Role role(std::size_t part) const { return of(part).role(); }
    bool lives(std::size_t part) const { return parts_[part].alive; }
    // Whether every member that this one counts on runs the attempt that it has begun.
    bool works(std::size_t decider) const {
        const auto& record = of(decider).record();
        return std::ranges::all_of(record.policy.members, [&](int member) {
            return parts_[static_cast<std::size_t>(member)].runs == record.attempt;
        });
    }
    unsigned pick(std::int64_t least, std::int64_t most) {
        return std::uniform_int_distribution<unsigned>(static_cast<unsigned>(least),
                                                       static_cast<unsigned>(most))(random_);
    }

    std::int64_t now = 1'000'000;
    int shared_terms = 0; // that have had two coordinators

private:
    struct Part {
        std::optional<Succession> succession{};
        bool alive = true;
        std::int64_t frozen_until = 0;
        std::optional<std::pair<std::size_t, std::int64_t>> link{}; // to whom, in which term
        std::map<std::size_t, std::int64_t> heard{};                // of whom it carries, and when
        std::set<std::size_t> linked{};
        std::int64_t term = 0;
        int attempt = 0;
        std::optional<int> runs = 0;          // the attempt whose ranks are there
        bool ends = false;                    // they have been told to
        bool paused = false;                  // for want of a coordinator
        std::vector<wire::JobEvent> told{};   // of this attempt
        std::optional<JobStateMachine> job{}; // as the coordinator that it is; and of each other part then:
        std::map<std::size_t, std::int64_t> spoken_to{}, unanswered{};
        std::map<std::size_t, wire::JobCommand> orders{};
        std::set<std::size_t> lost{};
    };
    bool awake(std::size_t part) const { return parts_[part].alive && now >= parts_[part].frozen_until; }
    Succession& own(std::size_t part) { return *parts_[part].succession; }
    void at(std::int64_t when, std::function<void()> what) {
        events_.emplace(std::tuple(when, ++number_), std::move(what));
    }
    void run_in(std::size_t part, std::function<void()> what) {
        if (!parts_[part].alive) {
            return;
        }
        if (!awake(part)) {
            return at(parts_[part].frozen_until,
                      [this, part, what = std::move(what)] { run_in(part, what); });
        }
        what();
    }
    void send(std::size_t from, std::size_t to, std::function<void()> what) {
        at(now + pick(1, 200), [this, from, to, what = std::move(what)] {
            if (!cuts_.contains(std::minmax(from, to))) {
                run_in(to, what);
            }
        });
    }

    void tick(std::size_t i) {
        if (!parts_[i].alive) {
            return;
        }
        run_in(i, [this, i] {
            own(i).tick(now);
            act(i);
            for (const auto other : parts_[i].linked) {
                ping(i, other);
                if (const auto order = parts_[i].orders.find(other); order != parts_[i].orders.end()) {
                    order_part(i, other, order->second);
                }
            }
        });
        at(std::max(now + tick_ms, parts_[i].frozen_until), [this, i] { tick(i); });
    }
    // What a part does after whatever it has heard.
    void act(std::size_t i) {
        auto& part = parts_[i];
        if (part.term != own(i).term()) {
            CHECK(own(i).term() > part.term);
            part.term = own(i).term();
            part.link.reset();
            part.job.reset();
        }
        if (own(i).is_searching() || role(i) == Role::over) {
            if (!std::exchange(part.paused, true)) {
                end_ranks(i);
            }
        } else {
            part.paused = false;
        }
        if (role(i) == Role::member) {
            if (part.link != std::pair(own(i).coordinator(), part.term)) {
                dial(i);
            }
            return;
        }
        if (own(i).may_act(now)) {
            decide(i);
        }
    }
    void ping(std::size_t i, std::size_t other) {
        if (role(i) == Role::candidate || role(i) == Role::coordinator) {
            auto& part = parts_[i];
            if (part.job) { // as node/job/detached/coordinator.cpp has it
                const auto since = part.unanswered.try_emplace(other, now).first->second;
                if (now - since >= word_ms(lease_ms) / 2) {
                    return;
                }
                part.spoken_to[other] = now;
            }
            const auto said = own(i).ping(other, now);
            send(i, other, [this, i, other, said] { hear_ping(other, i, said); });
        }
    }
    void decide(std::size_t i) {
        auto& part = parts_[i];
        if (!part.job) {
            part.job.emplace(own(i).record().policy, start_all, lease_ms);
            part.heard.clear();
            part.spoken_to.clear();
            part.unanswered.clear();
            part.orders.clear();
            part.lost.clear();
            if (own(i).former() != i) {
                part.lost.insert(own(i).former());
                part.job->take_over(i, own(i).former(), own(i).latest_attempt(), "gone", now);
            }
            const auto [had, is_first] = coordinators_.emplace(part.term, i);
            shared_terms += is_first || had->second == i ? 0 : 1;
        }
        for (std::size_t other = 0; other < parts_.size(); ++other) {
            const auto heard = part.heard.try_emplace(other, now).first->second;
            const bool known = part.job->settings().parts[other].lost || part.lost.contains(other);
            if (other != i && !known && now - heard >= lease_ms) {
                part.lost.insert(other);
                part.linked.erase(other);
                part.job->lost(other, "silent", std::max(heard, part.spoken_to[other]));
            }
        }
        for (const auto& event : part.told) {
            part.job->hear(i, event);
        }
        for (auto orders = part.job->decide(now); !orders.empty(); orders = part.job->decide(now)) {
            for (const auto& order : orders) {
                if (order.part == i) {
                    obey(i, order.command);
                } else {
                    part.orders[order.part] = order.command;
                    order_part(i, order.part, order.command);
                }
            }
        }
        (void)part.job->take_notices();
        CHECK_FALSE(own(i).record().policy.parts[i].lost);
        own(i).write(part.job->settings(), part.job->attempt());
    }
    void order_part(std::size_t i, std::size_t other, const wire::JobCommand& command) {
        parts_[i].spoken_to[other] = now;
        send(i, other, [this, i, other, term = own(i).term(), command] {
            if (parts_[other].link == std::pair(i, term)) {
                obey(other, command);
            }
        });
    }
    // As a supervisor does.
    void obey(std::size_t i, const wire::JobCommand& command) {
        using Type = wire::JobCommand::Type;
        auto& part = parts_[i];
        if (command.type == Type::halt) {
            if (command.takes_over && command.attempt != part.attempt) {
                part.attempt = command.attempt;
                part.told.clear();
            }
            if (command.attempt == part.attempt) {
                end_ranks(i);
            }
        } else if (command.type == Type::begin && command.attempt == part.attempt + 1 && !part.runs &&
                   role(i) != Role::over) {
            part.attempt = command.attempt;
            part.told.clear();
            part.runs = part.attempt;
            own(i).is_in_attempt(part.attempt);
        } else if (command.type == Type::stop) {
            end_ranks(i);
        }
    }
    void end_ranks(std::size_t i) {
        auto& part = parts_[i];
        if (!part.runs) {
            return tell_ended(i);
        }
        if (!std::exchange(part.ends, true)) {
            at(now + pick(0, grace_ms), [this, i, attempt = *part.runs] {
                if (parts_[i].runs == attempt) {
                    parts_[i].runs.reset();
                }
                parts_[i].ends = false;
                run_in(i, [this, i] { tell_ended(i); });
            });
        }
    }
    void tell_ended(std::size_t i) {
        auto& part = parts_[i];
        if (!part.runs && part.told.empty()) {
            part.told.push_back({.type = wire::JobEvent::Type::ended,
                                 .attempt = part.attempt,
                                 .result = {.code = 143, .stopped = true, .attempt = part.attempt}});
        }
    }
    void dial(std::size_t i) {
        const auto term = own(i).term();
        const auto to = own(i).coordinator();
        send(i, to, [this, i, to, term] {
            const auto answer = own(to).greet({.part = i, .term = term}, now);
            act(to);
            if (answer == Succession::Answer::welcome) {
                parts_[to].linked.insert(i);
                parts_[to].heard[i] = now;
                parts_[to].unanswered.erase(i);
                ping(to, i);
                send(to, i, [this, i, to, term] {
                    if (own(i).term() == term) {
                        parts_[i].link = std::pair(to, term);
                    }
                });
            } else if (answer == Succession::Answer::newer_term) {
                const wire::LinkPing ping{.term = own(to).term(), .number = now};
                send(to, i, [this, i, ping] {
                    (void)own(i).hear(ping, now);
                    act(i);
                });
            }
        });
    }
    void hear_ping(std::size_t i, std::size_t from, const wire::LinkPing& ping) {
        if (parts_[i].link && parts_[i].link->first != from) {
            return; // it has hung up
        }
        const auto pong = own(i).hear(ping, now);
        act(i);
        if (!pong) {
            return;
        }
        send(i, from, [this, i, from, pong, told = parts_[i].told, term = own(i).term()] {
            own(from).hear(i, *pong, now);
            auto& carries = parts_[from];
            carries.heard[i] = now;
            carries.unanswered.erase(i);
            if (carries.job && own(from).term() == term && !carries.lost.contains(i)) {
                for (const auto& event : told) {
                    carries.job->hear(i, event);
                }
            }
            act(from);
        });
    }
    void check() {
        const auto found = deciders();
        CAPTURE(now);
        REQUIRE(found.size() <= 1);
        std::set<int> attempts;
        for (const auto& part : parts_) {
            if (part.runs) {
                attempts.insert(*part.runs);
            }
        }
        REQUIRE(attempts.size() <= 1);
    }

    std::mt19937 random_;
    std::vector<Part> parts_;
    std::set<std::pair<std::size_t, std::size_t>> cuts_{};
    std::map<std::tuple<std::int64_t, std::uint64_t>, std::function<void()>> events_{};
    std::uint64_t number_ = 0;
    std::map<std::int64_t, std::size_t> coordinators_{};
};

} // namespace dockdist::simulated
