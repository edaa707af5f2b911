#include "node/job/rank_looks.hpp"

#include "node/job/rank_look.hpp"
#include "node/system/process.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace dockdist::node {

void RankLooks::begin(const std::vector<Wanted>& wanted, const Account& account,
                      const Environment& environment, Heard heard) {
    const auto shared = std::make_shared<Heard>(std::move(heard));
    for (const auto& each : wanted) {
        begin_look(each, account, environment, shared);
    }
    if (std::ranges::none_of(looks_, [&](const auto& look) { return look->heard == shared; })) {
        shared->over();
    }
}

void RankLooks::begin_look(const Wanted& wanted, const Account& account, const Environment& environment,
                           const std::shared_ptr<Heard>& heard) {
    auto pipe = make_pipe();
    const pid_t child = pipe ? ::fork() : -1;
    if (child < 0) {
        return heard->seen({.rank = wanted.rank,
                            .silent_ms = wanted.silent_ms,
                            .problem = system_error("cannot start a process", errno).message});
    }
    if (child == 0) {
        reset_signals();
        ::setpgid(0, 0);
        if (become(account)) {
            (void)write_all(pipe->write.get(), wire::rank_stack_line(look_at_rank(
                                                   wanted.root, environment,
                                                   wanted.pause_ms > 0 ? wanted.pause_ms : usual_pause_ms)));
        }
        ::_exit(0);
    }
    ::setpgid(child, child);
    auto& look = *looks_.emplace_back(std::make_unique<Look>());
    look.wanted = wanted;
    look.pid = child;
    look.output = std::move(pipe->read);
    look.heard = heard;
    set_nonblocking(look.output.get());
    loop_.watch(look.output.get(), POLLIN, [this, &look](short) { hear(look); });
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

// Whatever it says: it has run as the job's user, who may have written in its name.
void RankLooks::has_told(Look& look) {
    loop_.forget(look.output.get());
    auto word = wire::parse_stacks_word(look.text);
    wire::RankStack stack{.problem = "the look at it has failed"};
    if (word && !word->over) {
        stack = std::move(word->stack);
    }
    stack.rank = look.wanted.rank;
    stack.silent_ms = look.wanted.silent_ms;
    const auto heard = look.heard;
    std::erase_if(looks_, [&](const auto& other) { return other.get() == &look; });
    const bool last = std::ranges::none_of(looks_, [&](const auto& other) { return other->heard == heard; });
    heard->seen(std::move(stack));
    if (last) {
        heard->over();
    }
}

void RankLooks::end() {
    std::vector<std::shared_ptr<Heard>> groups;
    for (const auto& look : looks_) {
        loop_.forget(look->output.get());
        ::kill(-look->pid, SIGKILL); // the supervisor reaps it
        if (groups.empty() || groups.back() != look->heard) {
            groups.push_back(look->heard);
        }
    }
    looks_.clear();
    for (const auto& heard : groups) {
        heard->over();
    }
}

} // namespace dockdist::node
