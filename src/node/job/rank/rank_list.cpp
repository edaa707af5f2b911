#include "node/job/rank/rank_list.hpp"

#include "core/exit_codes.hpp"
#include "job_state/job_text.hpp"
#include "node/session/session.hpp"
#include "wire/frame.hpp"

#include <algorithm>
#include <csignal>
#include <set>
#include <sys/socket.h>
#include <utility>

namespace dockdist::node {

RankList::RankList(Loop& loop, OutputPipes& outputs, int listener, uid_t user)
    : loop_(loop), outputs_(outputs), listener_(listener), user_(user) {
    loop_.watch(listener_, POLLIN, [this](short) { accept_waiting(); });
}

void RankList::accept_waiting() {
    for (Fd socket;
         (socket = Fd(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK))).open();) {
        ucred credentials{};
        socklen_t length = sizeof credentials;
        if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0 ||
            (credentials.uid != 0 && credentials.uid != user_)) {
            continue;
        }
        const int number = socket.get();
        auto& rank = *ranks_.emplace_back(std::make_unique<Rank>());
        rank.socket = std::move(socket);
        rank.shim = credentials.pid;
        loop_.watch(number, POLLIN, [this, &rank](short) { hear(rank); });
    }
}

void RankList::hear(Rank& rank) {
    while (rank.socket.open()) {
        auto received = receive_rank_message(rank.socket.get());
        if (received && !*received) {
            return;
        }
        if (received && (*received)->message.kind == RankMessage::Kind::begun && !rank.out.open()) {
            ++begun_;
            others_begun_ = true;
            rank.begun = (*received)->message;
            rank.out = std::move((*received)->out);
            rank.err = std::move((*received)->err);
            outputs_.watch(rank.out, 1, rank.begun.rank);
            outputs_.watch(rank.err, 2, rank.begun.rank);
            continue;
        }
        // The rank has ended, and its shim stays for a while; or that was killed and the rank with it.
        if (!received) {
            loop_.forget(rank.socket.get());
            rank.socket.reset();
        }
        if (std::exchange(rank.over, true)) {
            continue;
        }
        outputs_.drain(rank.out, 1, rank.begun.rank);
        outputs_.drain(rank.err, 2, rank.begun.rank);
        auto end = rank.begun;
        end.kind = RankMessage::Kind::ended;
        end.code = received ? (*received)->message.code : exit_codes::by_signal(SIGKILL);
        end.signal = received ? (*received)->message.signal : SIGKILL;
        end.at_us = received ? (*received)->message.at_us : monotonic_us();
        if (end.code != 0) {
            failed_.push_back(end);
        }
    }
}

std::vector<std::pair<std::int32_t, pid_t>> RankList::running() const {
    std::vector<std::pair<std::int32_t, pid_t>> running;
    for (const auto& rank : ranks_) {
        if (!rank->over) {
            running.emplace_back(rank->begun.rank, rank->shim);
        }
    }
    return running;
}

void RankList::tell_failures() {
    if (!failed_.empty()) {
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
    std::set<int> numbers;
    for (const auto& rank : ranks_) {
        if (rank->begun.rank >= 0 && rank->begun.rank <= wire::max_rank) {
            numbers.insert(rank->begun.rank);
        }
    }
    return {numbers.begin(), numbers.end()};
}

void RankList::hear_all() {
    accept_waiting();
    for (const auto& rank : ranks_) {
        hear(*rank);
    }
    std::ranges::sort(failed_, {}, &RankMessage::at_us);
    for (const auto& end : std::exchange(failed_, {})) {
        on_failed({.rank = end.rank, .local_rank = end.local_rank, .code = end.code, .signal = end.signal});
    }
}

void RankList::drain() {
    for (const auto& rank : ranks_) {
        outputs_.drain(rank->out, 1, rank->begun.rank);
        outputs_.drain(rank->err, 2, rank->begun.rank);
    }
}

void RankList::clear() {
    for (const auto& rank : ranks_) {
        if (rank->socket.open()) {
            loop_.forget(rank->socket.get());
        }
        outputs_.forget(rank->out);
        outputs_.forget(rank->err);
    }
    ranks_.clear();
    failed_.clear();
    begun_ = 0;
    others_begun_ = false;
}

} // namespace dockdist::node
