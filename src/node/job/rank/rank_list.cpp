#include "node/job/rank/rank_list.hpp"

#include "node/session/session.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/job_state/job_text.hpp"
#include "shared/wire/frame.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::size_t most_rank_numbers = 16384; // of one attempt, on one node

} // namespace

RankList::RankList(Loop& loop, OutputPipes& outputs, Fd door, const std::string& scratch, std::size_t most)
    : loop_(loop), outputs_(outputs), most_(most), door_(loop, std::move(door), scratch, KnockWith::outputs,
                                                         [this](Caller caller) { take(std::move(caller)); }) {
}

void RankList::take(Caller caller) {
    const auto begun = parse_rank_words(caller.words);
    if (!begun) {
        return;
    }
    if (!numbers_.contains(begun->rank) && numbers_.size() == most_rank_numbers) {
        return refuse("ranks of more than " + std::to_string(most_rank_numbers) + " numbers");
    }
    if (!make_room()) {
        return refuse("more than " + std::to_string(most_) + " ranks at a time");
    }
    begun_ = std::min(begun_ + 1, wire::max_rank);
    others_begun_ = true;
    if (begun->rank >= 0) {
        numbers_.insert(begun->rank);
    }
    auto& rank = *ranks_.emplace_back(std::make_unique<Rank>());
    rank = {.begun = *begun,
            .from = std::move(caller.from),
            .to = std::move(caller.to),
            .out = std::move(caller.out),
            .err = std::move(caller.err)};
    loop_.watch(rank.from.get(), POLLIN, [this, &rank](short) { hear(rank); });
    outputs_.watch(rank.out, 1, begun->rank);
    outputs_.watch(rank.err, 2, begun->rank);
    hear(rank); // its shim may be gone
}

// What has ended and is read to its end goes; then what has ended, though others still hold its output.
bool RankList::make_room() {
    if (ranks_.size() < most_) {
        return true;
    }
    std::erase_if(ranks_, [](const auto& rank) {
        return !rank->from.open() && !rank->out.open() && !rank->err.open();
    });
    if (ranks_.size() < most_) {
        return true;
    }
    const auto ended = std::ranges::find_if(ranks_, [](const auto& rank) { return rank->over; });
    if (ended == ranks_.end()) {
        return false;
    }
    close(**ended);
    ranks_.erase(ended);
    return true;
}

void RankList::refuse(const std::string& why) {
    if (!std::exchange(refused_, true)) {
        on_note(why + " have begun on this node: the others are not listened to");
    }
}

void RankList::hear(Rank& rank) {
    while (rank.from.open()) {
        const auto heard = hear_rank_end(rank.from.get());
        if (!heard.is_over) {
            return;
        }
        // The rank has ended, and its shim stays for a while; or that was killed and the rank with it. It has
        // nothing more to say: whoever goes on is listened to no more.
        if (!heard.end || rank.over) {
            loop_.forget(rank.from.get());
            rank.from.reset();
            rank.to.reset();
        }
        if (std::exchange(rank.over, true)) {
            return;
        }
        outputs_.drain(rank.out, 1, rank.begun.rank);
        outputs_.drain(rank.err, 2, rank.begun.rank);
        const RankEnd killed{
            .code = exit_codes::by_signal(SIGKILL), .signal = SIGKILL, .at_us = monotonic_us()};
        ended_.push_back({.begun = rank.begun, .end = heard.end.value_or(killed)});
    }
}

std::vector<int> RankList::ended() const {
    std::vector<int> ended;
    const auto here = running();
    for (const auto number : numbers_) {
        if (std::ranges::find(here, number, &std::pair<std::int32_t, pid_t>::first) == here.end()) {
            ended.push_back(number);
        }
    }
    return ended;
}

std::vector<std::pair<std::int32_t, pid_t>> RankList::running() const {
    std::vector<std::pair<std::int32_t, pid_t>> running;
    for (const auto& rank : ranks_) {
        if (!rank->over) {
            running.emplace_back(rank->begun.rank, rank->begun.shim);
        }
    }
    return running;
}

void RankList::tell_ends() {
    if (!ended_.empty()) {
        hear_all();
    }
    if (std::exchange(others_begun_, false) && second() != nullptr) {
        hear_all(); // the one before may have ended by now
        tell_second();
    }
}

void RankList::tell_second() {
    if (const auto* found = second()) {
        const auto& begun = found->begun;
        const auto node = recorded_environment().get("DOCKDIST_NODE").value_or("");
        on_failed({.rank = begun.rank,
                   .local_rank = begun.local_rank,
                   .code = exit_codes::own_failure,
                   .finding = second_rank_text(begun.rank, {node})});
    }
}

const RankList::Rank* RankList::second() const {
    std::set<std::int32_t> numbers;
    for (const auto& rank : ranks_) {
        const auto number = rank->begun.rank;
        if (!rank->over && number >= 0 && !numbers.insert(number).second) {
            return rank.get();
        }
    }
    return nullptr;
}

std::vector<int> RankList::numbers() const {
    return {numbers_.begin(), numbers_.end()};
}

void RankList::hear_all() {
    door_.take_waiting();
    for (const auto& rank : ranks_) {
        hear(*rank);
    }
    std::ranges::sort(ended_, {}, [](const Ended& one) { return one.end.at_us; });
    for (const auto& [begun, end] : std::exchange(ended_, {})) {
        if (end.code != 0) {
            on_failed(
                {.rank = begun.rank, .local_rank = begun.local_rank, .code = end.code, .signal = end.signal});
        } else if (begun.rank >= 0 && !std::exchange(done_is_told_, true)) {
            on_done(begun.rank);
        }
    }
}

void RankList::drain() {
    for (const auto& rank : ranks_) {
        outputs_.drain(rank->out, 1, rank->begun.rank);
        outputs_.drain(rank->err, 2, rank->begun.rank);
    }
}

void RankList::close(Rank& rank) {
    if (rank.from.open()) {
        loop_.forget(rank.from.get());
    }
    outputs_.forget(rank.out);
    outputs_.forget(rank.err);
}

void RankList::clear() {
    for (const auto& rank : ranks_) {
        close(*rank);
    }
    ranks_.clear();
    ended_.clear();
    numbers_.clear();
    begun_ = 0;
    done_is_told_ = others_begun_ = refused_ = false;
}

} // namespace dockdist::node
