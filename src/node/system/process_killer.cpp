#include "node/system/process_killer.hpp"

#include "node/system/os.hpp"
#include "node/system/process_environ.hpp"
#include "node/system/process_stat.hpp"
#include "wire/job.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <set>
#include <string_view>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t first_pause_ms = 5;
constexpr std::int64_t longest_pause_ms = 200;
constexpr std::int64_t give_up_ms = 10000;

std::string find_mark(const std::string& environ_text) {
    return variable_in(environ_text, wire::job_mark);
}

// A process that is just becoming another program has neither environment nor arguments for a moment, and
// must not be taken for one that bears no mark.
std::string settled_environ(pid_t pid) {
    constexpr int looks = 20;
    const auto folder = "/proc/" + std::to_string(pid);
    std::string text;
    for (int i = 0; i < looks; ++i) {
        text = read_process_environ(pid);
        // The kernel's own threads never have either, nor a program.
        if (!text.empty() || !read_file_or_empty(folder + "/cmdline").empty() ||
            read_link(folder + "/exe").empty()) {
            break;
        }
        pollfd nothing{.fd = -1, .events = 0, .revents = 0};
        ::poll(&nothing, 1, 1);
    }
    return text;
}

ProcessEntry entry_of(const ProcessStat& process) {
    return {.pid = process.pid,
            .parent = process.parent,
            .session = process.session,
            .zombie = process.has_ended()};
}

// proc(5), /proc/PID/status: "SigIgn:\t0000000000000001", one bit a signal from the lowest on.
bool ignores_hangups(pid_t pid) {
    constexpr std::string_view field = "SigIgn:\t";
    const auto status = read_file_or_empty("/proc/" + std::to_string(pid) + "/status");
    const auto at = status.find(field);
    std::uint64_t ignored = 0;
    if (at != std::string::npos) {
        (void)std::from_chars(status.data() + at + field.size(), status.data() + status.size(), ignored, 16);
    }
    return (ignored >> (SIGHUP - 1) & 1U) != 0;
}

} // namespace

std::vector<pid_t> find_processes(const ProcessScope& scope) {
    std::vector<ProcessEntry> all;
    for (const auto& process : all_processes()) {
        auto& entry = all.emplace_back(entry_of(process));
        if (!entry.zombie) {
            entry.mark = find_mark(settled_environ(entry.pid));
        }
    }
    return select_processes(all, scope, ::getpid(), ::getsid(0));
}

std::vector<pid_t> select_processes(const std::vector<ProcessEntry>& all, const ProcessScope& scope,
                                    pid_t self, pid_t own_session) {
    std::map<pid_t, const ProcessEntry*> by_pid;
    for (const auto& entry : all) {
        by_pid[entry.pid] = &entry;
    }
    const auto may_belong = [&](const ProcessEntry& entry) {
        return entry.pid != self && entry.pid > 1 && entry.mark != helper_mark &&
               !scope.spared.contains(entry.pid) &&
               (entry.mark.empty() || entry.mark == scope.mark || scope.mark.empty());
    };
    std::set<pid_t> members;
    std::set<pid_t> sessions;
    // Grows until it stays: a descendant's session may hold processes with descendants of their own.
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& entry : all) {
            if (members.contains(entry.pid) || !may_belong(entry)) {
                continue;
            }
            const bool marked = !scope.mark.empty() && entry.mark == scope.mark;
            const bool descends =
                members.contains(entry.parent) || (scope.root != 0 && entry.parent == scope.root);
            if (marked || descends || sessions.contains(entry.session)) {
                members.insert(entry.pid);
                if (entry.session > 1 && entry.session != own_session && !scope.mark.empty()) {
                    sessions.insert(entry.session);
                }
                grown = true;
            }
        }
    }
    std::vector<pid_t> result;
    for (const auto pid : members) {
        if (!by_pid.at(pid)->zombie) {
            result.push_back(pid);
        }
    }
    return result;
}

std::set<pid_t> find_set_free(pid_t root, pid_t command) {
    std::vector<ProcessEntry> all;
    for (const auto& process : all_processes()) {
        auto& entry = all.emplace_back(entry_of(process));
        entry.deaf = ignores_hangups(entry.pid);
    }
    return select_set_free(all, root, command);
}

std::set<pid_t> select_set_free(const std::vector<ProcessEntry>& all, pid_t root, pid_t command) {
    const auto leader = std::ranges::find(all, command, &ProcessEntry::pid);
    const pid_t session = leader == all.end() ? command : leader->session;
    std::set<pid_t> descendants{root};
    std::set<pid_t> set_free;
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& entry : all) {
            if (!descendants.contains(entry.parent) || entry.pid == root) {
                continue;
            }
            const bool adopted = entry.parent == root && entry.pid != command;
            const bool free =
                entry.deaf || set_free.contains(entry.parent) || (adopted && entry.session != session);
            grown |= descendants.insert(entry.pid).second;
            grown |= free && set_free.insert(entry.pid).second;
        }
    }
    return set_free;
}

ProcessKiller::ProcessKiller(Loop& loop, ProcessScope scope,
                             std::function<void(std::vector<pid_t> left)> when_done)
    : loop_(loop), scope_(std::move(scope)), when_done_(std::move(when_done)) {}

void ProcessKiller::begin(std::int64_t grace_ms) {
    const auto kill_at = loop_.now_ms() + grace_ms;
    kill_at_ms_ = begun_ ? std::min(kill_at_ms_, kill_at) : kill_at;
    begun_ = true;
    pause_ms_ = first_pause_ms;
    step();
}

void ProcessKiller::look() {
    if (begun_ && !done_) {
        loop_.cancel(timer_);
        timer_ = loop_.after(1, [this] { step(); });
    }
}

// Once, so that a program that takes a second TERM for "at once" is not hurried. But a child that a shell has
// forked and that has not yet become its program takes the TERM as the shell would, and the program never
// hears of it.
bool ProcessKiller::must_be_told(pid_t pid) {
    const auto program = read_link("/proc/" + std::to_string(pid) + "/exe");
    const auto [told, is_new] = told_.try_emplace(pid, program);
    if (!is_new && told->second == program) {
        return false;
    }
    told->second = program;
    return true;
}

void ProcessKiller::step() {
    if (done_) {
        return;
    }
    loop_.cancel(timer_);
    auto found = find_processes(scope_);
    const auto now = loop_.now_ms();
    const bool killing = now >= kill_at_ms_;
    if (killing && give_up_at_ms_ == 0) {
        give_up_at_ms_ = now + give_up_ms;
    }
    if (found.empty() || (killing && now >= give_up_at_ms_)) {
        done_ = true;
        when_done_(std::move(found));
        return;
    }
    if (killing) {
        // Stopped first: what forks faster than it is found stops forking.
        for (const auto pid : found) {
            ::kill(pid, SIGSTOP);
        }
    }
    for (const auto pid : found) {
        if (killing) {
            ::kill(pid, SIGKILL);
        } else if (must_be_told(pid)) {
            sigval value{};
            value.sival_int = told_to_all;
            ::sigqueue(pid, SIGTERM, value);
            ::kill(pid, SIGCONT);
        }
    }
    const auto pause = killing ? first_pause_ms : std::min(pause_ms_, kill_at_ms_ - now);
    pause_ms_ = std::min(pause_ms_ * 2, longest_pause_ms);
    timer_ = loop_.after(std::max<std::int64_t>(pause, 1), [this] { step(); });
}

Sweep::Sweep(Loop& loop, std::string mark, std::function<void(const std::vector<pid_t>& left)> when_done)
    : loop_(loop), mark_(std::move(mark)), when_done_(std::move(when_done)) {}

void Sweep::begin(What what, std::int64_t grace_ms) {
    if (!under_way_ || (what == What::job && what_ == What::leftovers)) {
        under_way_ = true;
        what_ = what;
        const int number = ++count_;
        const ProcessScope scope{.mark = what == What::job ? mark_ : "", .root = ::getpid()};
        killer_ = std::make_unique<ProcessKiller>(loop_, scope, [this, number](std::vector<pid_t> left) {
            loop_.after(0, [this, number, left = std::move(left)] {
                if (number == count_) {
                    under_way_ = false;
                    when_done_(left);
                }
            });
        });
    }
    killer_->begin(grace_ms);
}

void Sweep::look() {
    if (killer_) {
        killer_->look();
    }
}

std::vector<pid_t> end_processes(const ProcessScope& scope, std::int64_t grace_ms) {
    Loop loop;
    std::vector<pid_t> left;
    bool done = false;
    ProcessKiller ending(loop, scope, [&](std::vector<pid_t> still_there) {
        left = std::move(still_there);
        done = true;
        loop.stop();
    });
    ending.begin(grace_ms);
    if (!done) {
        loop.run();
    }
    return left;
}

} // namespace dockdist::node
