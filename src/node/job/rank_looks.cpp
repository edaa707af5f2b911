#include "node/job/rank_looks.hpp"

#include "node/job/flight_look.hpp"
#include "node/job/rank_look.hpp"
#include "node/job/ras_client.hpp"
#include "node/system/process.hpp"
#include "node/system/process_environ.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace dockdist::node {

void RankLooks::begin(const std::vector<Wanted>& wanted, const Manner& manner, const Account& account,
                      const Environment& environment, Heard heard) {
    const auto group = std::make_shared<Group>(Group{.heard = std::move(heard)});
    for (const auto& each : wanted) {
        begin_look({.wanted = each, .group = group}, account, [&] {
            const FlightLook flight(read_process_environ(rank_process(each.root)), each.rank);
            auto stack =
                look_at_rank(each.root, environment, manner.pause_ms > 0 ? manner.pause_ms : usual_pause_ms);
            stack.flight = flight.read();
            return wire::rank_stack_line(stack);
        });
    }
    if (!wanted.empty() && manner.asks_ras) {
        const auto& any = wanted.front();
        begin_look({.wanted = any, .is_ras = true, .group = group}, account, [&] {
            return wire::stacks_told_line(look_at_ras(read_process_environ(rank_process(any.root)),
                                                      std::max(manner.pause_ms, between_ras_looks_ms)));
        });
    }
    if (!is_under_way(group)) {
        group->heard.over(group->ras);
    }
}

void RankLooks::begin_look(Look begun, const Account& account, const Work& work) {
    auto pipe = make_pipe();
    const pid_t child = pipe ? ::fork() : -1;
    if (child < 0) {
        begun.text =
            wire::rank_stack_line({.problem = system_error("cannot start a process", errno).message});
        return tell(begun);
    }
    if (child == 0) {
        reset_signals();
        ::setpgid(0, 0);
        if (become(account)) {
            (void)write_all(pipe->write.get(), work());
        }
        ::_exit(0);
    }
    ::setpgid(child, child);
    auto& look = *looks_.emplace_back(std::make_unique<Look>(std::move(begun)));
    look.pid = child;
    look.output = std::move(pipe->read);
    set_nonblocking(look.output.get());
    loop_.watch(look.output.get(), POLLIN, [this, &look](short) { hear(look); });
}

bool RankLooks::is_under_way(const std::shared_ptr<Group>& group) const {
    return std::ranges::any_of(looks_, [&](const auto& look) { return look->group == group; });
}

void RankLooks::hear(Look& look) {
    char buffer[16384];
    const auto count = ::read(look.output.get(), buffer, sizeof buffer);
    if (count > 0 && look.text.size() <= wire::max_line) {
        look.text.append(buffer, static_cast<std::size_t>(count));
        return;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (count > 0) {
        ::kill(-look.pid, SIGKILL); // the supervisor reaps it
    }
    has_told(look);
}

void RankLooks::has_told(Look& ended) {
    loop_.forget(ended.output.get());
    const auto place = std::ranges::find_if(looks_, [&](const auto& other) { return other.get() == &ended; });
    const auto look = std::move(*place);
    looks_.erase(place);
    tell(*look);
    if (!is_under_way(look->group)) {
        look->group->heard.over(look->group->ras);
    }
}

// Whatever it says: it has run as the job's user, who may have written in its name.
void RankLooks::tell(const Look& look) {
    auto word = wire::parse_stacks_word(look.text);
    if (look.is_ras) {
        look.group->ras = word && word->over ? std::move(word->ras)
                                             : wire::RasReport{.problem = "the look at RAS has failed"};
        return;
    }
    wire::RankStack stack{.problem = "the look at it has failed"};
    if (word && !word->over) {
        stack = std::move(word->stack);
    }
    stack.rank = look.wanted.rank;
    stack.silent_ms = look.wanted.silent_ms;
    look.group->heard.seen(std::move(stack));
}

void RankLooks::end() {
    std::vector<std::shared_ptr<Group>> groups;
    for (const auto& look : looks_) {
        loop_.forget(look->output.get());
        ::kill(-look->pid, SIGKILL); // the supervisor reaps it
        if (groups.empty() || groups.back() != look->group) {
            groups.push_back(look->group);
        }
    }
    looks_.clear();
    for (const auto& group : groups) {
        group->heard.over(group->ras);
    }
}

} // namespace dockdist::node
