#include "node/job/silence_watch.hpp"

#include "node/job/stack_dump.hpp"
#include "node/system/process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <unistd.h>

namespace dockdist::node {

void SilenceWatch::begin() {
    end();
    begun_ms_ = last_ms_ = loop_.now_ms();
    voices_.clear();
    silent_ = false;
    if (stall_ms_ > 0) {
        arm(stall_ms_);
    }
}

void SilenceWatch::end() {
    loop_.cancel(timer_);
    reporting_ = false;
    for (const auto& look : looks_) {
        loop_.forget(look->output.get());
        ::kill(-look->pid, SIGKILL); // the supervisor reaps it
    }
    looks_.clear();
}

void SilenceWatch::arm(std::int64_t delay_ms) {
    loop_.cancel(timer_);
    timer_ = loop_.after(delay_ms, [this] {
        const auto left = last_ms_ + stall_ms_ - loop_.now_ms();
        if (left > 0) {
            return arm(left);
        }
        silent_ = true;
        on_event(wire::JobEvent::Type::silent);
    });
}

void SilenceWatch::heard(std::uint8_t stream, std::int32_t rank, std::string_view bytes) {
    last_ms_ = loop_.now_ms();
    auto& voice = voices_[rank];
    voice.last_ms = last_ms_;
    if (stream == 2) {
        voice.line_is_open = !bytes.ends_with('\n');
    }
    if (silent_) {
        silent_ = false;
        arm(stall_ms_);
        on_event(wire::JobEvent::Type::speaks);
    }
}

void SilenceWatch::report(Ranks ranks, pid_t command, const Account& account,
                          const Environment& environment) {
    if (reporting_) {
        return;
    }
    reporting_ = true;
    if (ranks.empty() && command != 0) {
        ranks.emplace_back(-1, command);
    }
    for (const auto& [rank, root] : ranks) {
        begin_look(rank, root, account, environment);
    }
    tell_when_reported();
}

void SilenceWatch::begin_look(std::int32_t rank, pid_t root, const Account& account,
                              const Environment& environment) {
    auto& voice = voices_[rank];
    const auto silent_ms = loop_.now_ms() - std::max(voice.last_ms, begun_ms_);
    auto pipe = make_pipe();
    const pid_t child = pipe ? ::fork() : -1;
    if (child < 0) {
        log_.append(2, rank, "dockdist: " + system_error("cannot start a process", errno).message + "\n");
        return;
    }
    if (child == 0) {
        reset_signals();
        ::setpgid(0, 0);
        ::dup2(pipe->write.get(), STDOUT_FILENO);
        if (become(account)) {
            dump_stacks(root, silent_ms, environment, looks_.empty()); // one of them is enough
        }
        ::_exit(0);
    }
    ::setpgid(child, child);
    if (std::exchange(voice.line_is_open, false)) {
        log_.append(2, rank, "\n");
    }
    auto& look = *looks_.emplace_back(std::make_unique<Look>());
    look.rank = rank;
    look.pid = child;
    look.output = std::move(pipe->read);
    set_nonblocking(look.output.get());
    loop_.watch(look.output.get(), POLLIN, [this, &look](short) { hear(look); });
}

void SilenceWatch::hear(Look& look) {
    char buffer[16384];
    const auto count = ::read(look.output.get(), buffer, sizeof buffer);
    if (count > 0) {
        log_.append(2, look.rank, std::string_view(buffer, static_cast<std::size_t>(count)));
        return;
    }
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    loop_.forget(look.output.get());
    std::erase_if(looks_, [&](const auto& other) { return other.get() == &look; });
    tell_when_reported();
}

void SilenceWatch::tell_when_reported() {
    if (reporting_ && looks_.empty()) {
        reporting_ = false;
        on_event(wire::JobEvent::Type::reported);
    }
}

} // namespace dockdist::node
