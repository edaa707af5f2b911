// The parts of a detached job, each with its own view of who carries it, and a network that loses, delays and
// cuts what they say to each other.
#pragma once

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

inline wire::JobPolicy policy_of(std::size_t parts) {
    wire::JobPolicy policy{.max_restarts = 100, .min_nodes = 1, .relaunch = "{}"};
    for (std::size_t i = 0; i < parts; ++i) {
        policy.parts.push_back({.node = "node-" + std::to_string(i)});
        policy.members.push_back(static_cast<int>(i));
    }
    return policy;
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

    void kill(std::size_t part) { parts_[part].alive = false; }
    void cut(std::size_t a, std::size_t b) { cuts_.insert(std::minmax(a, b)); }
    void mend(std::size_t a, std::size_t b) { cuts_.erase(std::minmax(a, b)); }
    void cut_off(std::size_t part) {
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            cut(part, i);
        }
    }
    void mend_all() { cuts_.clear(); }
    void freeze(std::size_t part, std::int64_t for_ms) { parts_[part].frozen_until = now + for_ms; }

    // At every moment of it, no two parts may decide.
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
        std::optional<wire::JobPolicy> policy{}; // as the coordinator that it is
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
            part.policy.reset();
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
            const auto said = own(i).ping(other, now);
            send(i, other, [this, i, other, said] { hear_ping(other, i, said); });
        }
    }
    void decide(std::size_t i) {
        auto& part = parts_[i];
        if (!part.policy) {
            part.policy = own(i).record().policy;
            part.heard.clear();
            if (own(i).former() != i) {
                part.policy->parts[own(i).former()].lost = true;
            }
            const auto [had, is_first] = coordinators_.emplace(part.term, i);
            shared_terms += is_first || had->second == i ? 0 : 1;
        }
        for (std::size_t other = 0; other < parts_.size(); ++other) {
            const auto heard = part.heard.try_emplace(other, now).first->second;
            if (other != i && now - heard >= lease_ms) {
                part.policy->parts[other].lost = true;
                part.linked.erase(other);
            }
        }
        CHECK_FALSE(own(i).record().policy.parts[i].lost);
        own(i).write(*part.policy, own(i).record().attempt);
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
        send(i, from, [this, i, from, pong] {
            own(from).hear(i, *pong, now);
            parts_[from].heard[i] = now;
            act(from);
        });
    }
    void check() {
        const auto found = deciders();
        CAPTURE(now);
        REQUIRE(found.size() <= 1);
    }

    std::mt19937 random_;
    std::vector<Part> parts_;
    std::set<std::pair<std::size_t, std::size_t>> cuts_{};
    std::map<std::tuple<std::int64_t, std::uint64_t>, std::function<void()>> events_{};
    std::uint64_t number_ = 0;
    std::map<std::int64_t, std::size_t> coordinators_{};
};

} // namespace dockdist::simulated
