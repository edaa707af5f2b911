#include "node/job/rank/rank_list.hpp"

#include <algorithm>
#include <csignal>
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
            rank.begun = (*received)->message;
            rank.out = std::move((*received)->out);
            rank.err = std::move((*received)->err);
            outputs_.watch(rank.out, 1, rank.begun.rank);
            outputs_.watch(rank.err, 2, rank.begun.rank);
            continue;
        }
        // The rank has ended, or its shim was killed and the rank with it.
        loop_.forget(rank.socket.get());
        rank.socket.reset();
        outputs_.drain(rank.out, 1, rank.begun.rank);
        outputs_.drain(rank.err, 2, rank.begun.rank);
        End end{.at_us = monotonic_us(),
                .begun = rank.begun,
                .status = {.code = 128 + SIGKILL, .signal = SIGKILL}};
        if (received) {
            const auto& message = (*received)->message;
            end.at_us = message.at_us;
            end.status = {.code = message.code, .signal = message.signal};
        }
        if (end.status.code != 0) {
            failed_.push_back(end);
        }
    }
}

std::vector<std::pair<std::int32_t, pid_t>> RankList::running() const {
    std::vector<std::pair<std::int32_t, pid_t>> running;
    for (const auto& rank : ranks_) {
        if (rank->socket.open()) {
            running.emplace_back(rank->begun.rank, rank->shim);
        }
    }
    return running;
}

void RankList::tell_failures() {
    if (!failed_.empty()) {
        hear_all();
    }
}

void RankList::hear_all() {
    accept_waiting();
    for (const auto& rank : ranks_) {
        hear(*rank);
    }
    std::ranges::sort(failed_, {}, &End::at_us);
    for (const auto& end : std::exchange(failed_, {})) {
        on_failed(end.begun.rank, end.begun.local_rank, end.status);
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
}

} // namespace dockdist::node
