#include "node/system/process_killer.hpp"

#include "node/system/os.hpp"
#include "node/system/process.hpp"
#include "node/system/process_environ.hpp"
#include "node/system/process_stat.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <iterator>
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
constexpr std::int64_t rest_grace_ms = 3000; // for what has started the ranks, when these are gone
constexpr std::int64_t gates_later_ms = 20;  // than their launcher, which would start their ranks again
constexpr std::int64_t stuck_ms = 2000;      // ranks that do not end by KILL hold up the rest no longer

std::string find_mark(const std::string& environ_text) {
    return variable_in(environ_text, wire::job_mark);
}

// A process that is just becoming another program has neither environment nor arguments for a moment, and
// must not be taken for one that bears no mark.
bool is_between_programs(pid_t pid, const std::string& environ_text) {
    const auto folder = "/proc/" + std::to_string(pid);
    // The kernel's own threads never have either, nor a program.
    return environ_text.empty() && read_file_or_empty(folder + "/cmdline").empty() &&
           !read_link(folder + "/exe").empty();
}

// Of those that do not belong already: what belongs is not asked, as the answer may be held up by a file
// server that the process waits for. All that are between programs are waited for at once, and not for long:
// one can look so for as long as it likes.
void read_marks(std::vector<ProcessEntry>& all, const std::vector<pid_t>& belonging) {
    constexpr int looks = 20;
    std::vector<ProcessEntry*> asked;
    for (auto& entry : all) {
        if (!entry.zombie && !std::ranges::binary_search(belonging, entry.pid)) {
            asked.push_back(&entry);
        }
    }
    for (int i = 0; i < looks && !asked.empty(); ++i) {
        if (i > 0) {
            (void)::poll(nullptr, 0, 1);
        }
        std::erase_if(asked, [](ProcessEntry* entry) {
            const auto text = read_process_environ(entry->pid);
            entry->mark = find_mark(text);
            return !is_between_programs(entry->pid, text);
        });
    }
}

ProcessEntry entry_of(const ProcessStat& process) {
    return {.pid = process.pid,
            .parent = process.parent,
            .session = process.session,
            .zombie = process.has_ended()};
}

bool ignores_hangups(pid_t pid) {
    const auto ignored = signal_set(read_file_or_empty("/proc/" + std::to_string(pid) + "/status"), "SigIgn");
    return (ignored >> (SIGHUP - 1) & 1U) != 0;
}

std::vector<ProcessStat> members_of(const ProcessScope& scope) {
    const auto processes = all_processes();
    std::vector<ProcessEntry> all;
    std::ranges::transform(processes, std::back_inserter(all), entry_of);
    auto looked_for = scope;
    if (scope.root == ::getpid()) {
        looked_for.spared.insert(spared_helpers().begin(), spared_helpers().end());
    }
    auto found = select_processes(all, looked_for, ::getpid(), ::getsid(0));
    if (!scope.mark.empty()) {
        read_marks(all, found);
        found = select_processes(all, looked_for, ::getpid(), ::getsid(0));
    }
    std::vector<ProcessStat> members;
    std::ranges::copy_if(processes, std::back_inserter(members), [&](const ProcessStat& process) {
        return std::ranges::binary_search(found, process.pid);
    });
    return members;
}

} // namespace

std::vector<pid_t> find_processes(const ProcessScope& scope) {
    std::vector<pid_t> found;
    std::ranges::transform(members_of(scope), std::back_inserter(found), &ProcessStat::pid);
    return found;
}

std::set<pid_t> find_gated(const ProcessScope& scope) {
    std::vector<Hearer> members;
    std::ranges::transform(members_of(scope), std::back_inserter(members), look_at);
    auto gated = below_gates(members);
    for (const auto& member : members) {
        if (member.kind == Hearer::Kind::gate) {
            gated.insert(member.pid);
        }
    }
    return gated;
}

// Each process is looked at once, however deep they stand below each other.
std::vector<pid_t> select_processes(const std::vector<ProcessEntry>& all, const ProcessScope& scope,
                                    pid_t self, pid_t own_session) {
    std::multimap<pid_t, const ProcessEntry*> by_parent;
    std::multimap<pid_t, const ProcessEntry*> by_session;
    std::vector<const ProcessEntry*> next;
    std::set<pid_t> members;
    const auto take = [&](const ProcessEntry* entry) {
        if (entry->pid != self && entry->pid > 1 && !scope.spared.contains(entry->pid) &&
            members.insert(entry->pid).second) {
            next.push_back(entry);
        }
    };
    const auto take_all = [&](std::multimap<pid_t, const ProcessEntry*>& from, pid_t key) {
        const auto [begin, end] = from.equal_range(key);
        std::for_each(begin, end, [&](const auto& entry) { take(entry.second); });
        from.erase(begin, end);
    };
    for (const auto& entry : all) {
        by_parent.emplace(entry.parent, &entry);
        if (entry.session > 1 && entry.session != own_session && !scope.mark.empty()) {
            by_session.emplace(entry.session, &entry);
        }
        if (!scope.mark.empty() && entry.mark == scope.mark) {
            take(&entry);
        }
    }
    if (scope.root != 0) {
        take_all(by_parent, scope.root);
    }
    std::vector<pid_t> result;
    while (!next.empty()) {
        const auto* entry = next.back();
        next.pop_back();
        take_all(by_parent, entry->pid);
        take_all(by_session, entry->session);
        if (!entry->zombie) {
            result.push_back(entry->pid);
        }
    }
    std::ranges::sort(result);
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

bool is_of_an_end(const signalfd_siginfo& signal) {
    return signal.ssi_code == SI_QUEUE && (signal.ssi_int == told_to_all || signal.ssi_int == told_to_ranks);
}

ProcessKiller::ProcessKiller(Loop& loop, ProcessScope scope,
                             std::function<void(std::vector<pid_t> left)> when_done, ToldList told)
    : loop_(loop), scope_(std::move(scope)), when_done_(std::move(when_done)), told_(std::move(told)) {}

void ProcessKiller::begin(const Ending& ending) {
    const auto kill_at = loop_.now_ms() + ending.grace_ms;
    if (!std::exchange(begun_, true)) {
        ending_ = ending;
        ranks_ = ending.ranks_first;
        kill_at_ms_ = kill_at;
    }
    kill_at_ms_ = std::min(kill_at_ms_, kill_at);
    if (ending.grace_ms == 0) { // all at once
        ranks_ = false;
        rest_ = ending_.ranks_first;
    }
    pause_ms_ = first_pause_ms;
    step();
}

void ProcessKiller::go_on() {
    ending_.rest_waits = false;
    look();
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
bool ProcessKiller::must_be_told(const Hearer& hearer) {
    const auto found = told_.find(hearer.pid);
    return found == told_.end() || found->second.started_ticks != hearer.started_ticks ||
           found->second.program != hearer.program ||
           (hearer.kind == Hearer::Kind::gate && found->second.value != value());
}

void ProcessKiller::tell(const Hearer& hearer, int signal) {
    told_[hearer.pid] = {.started_ticks = hearer.started_ticks, .program = hearer.program, .value = value()};
    sigval with{};
    with.sival_int = value();
    ::sigqueue(hearer.pid, signal, with);
    ::kill(hearer.pid, SIGCONT);
    pause_ms_ = first_pause_ms;
}

void ProcessKiller::end_rest(std::int64_t now) {
    ranks_ = false;
    rest_ = true;
    give_up_at_ms_ = 0;
    gates_from_ms_ = now + gates_later_ms;
    kill_at_ms_ = now + std::min(ending_.grace_ms / 3, rest_grace_ms);
}

// Whether it is the turn of the rest.
bool ProcessKiller::ranks_are_gone(bool some, std::int64_t now) {
    if (some) {
        return now >= kill_at_ms_ + stuck_ms;
    }
    if (ending_.rest_waits && !std::exchange(gone_told_, true)) {
        loop_.after(0, on_ranks_gone); // which may order something
    }
    return !ending_.rest_waits || now >= kill_at_ms_;
}

void ProcessKiller::step() {
    if (done_) {
        return;
    }
    loop_.cancel(timer_);
    std::vector<Hearer> members;
    std::ranges::transform(members_of(scope_), std::back_inserter(members), look_at);
    const auto now = loop_.now_ms();
    const auto below = below_gates(members);
    if (ranks_ && !members.empty() && ranks_are_gone(!below.empty(), now)) {
        end_rest(now);
    }
    const bool killing = now >= kill_at_ms_;
    if (killing && give_up_at_ms_ == 0) {
        give_up_at_ms_ = now + give_up_ms;
    }
    if (members.empty() || (killing && now >= give_up_at_ms_)) {
        done_ = true;
        std::vector<pid_t> left;
        std::ranges::transform(members, std::back_inserter(left), &Hearer::pid);
        when_done_(std::move(left));
        return;
    }
    killing ? kill(members, below) : tell(members);
    const auto pause = killing ? first_pause_ms : std::min(pause_ms_, kill_at_ms_ - now);
    pause_ms_ = std::min(pause_ms_ * 2, longest_pause_ms);
    // Of many thousands a look takes longer than the pause: the loop is for others, too.
    timer_ = loop_.after(std::max({pause, loop_.now_ms() - now, std::int64_t{1}}), [this] { step(); });
}

// Stopped first: what forks faster than it is found stops forking.
void ProcessKiller::kill(const std::vector<Hearer>& members, const std::set<pid_t>& below) const {
    for (const int signal : {SIGSTOP, SIGKILL}) {
        for (const auto& member : members) {
            if (!ranks_ || below.contains(member.pid)) {
                ::kill(member.pid, signal);
            }
        }
    }
}

// A Ctrl-C is for the whole group of who is told, as from a terminal.
void ProcessKiller::tell(const std::vector<Hearer>& members) {
    const auto hearers = select_hearers(members, ending_.signal);
    std::set<pid_t> groups;
    for (const auto& member : members) {
        const bool gate = member.kind == Hearer::Kind::gate;
        const bool turn = gate ? loop_.now_ms() >= gates_from_ms_ : !ranks_ && hearers.contains(member.pid);
        if (turn && must_be_told(member)) {
            const int signal = gate || (!rest_ && member.hears(ending_.signal)) ? ending_.signal : SIGTERM;
            tell(member, signal);
            if (signal == SIGINT && !gate) {
                groups.insert(member.pid);
            }
        }
    }
    for (const auto& member : members) {
        if (groups.contains(member.group) && member.hears(SIGINT) && must_be_told(member)) {
            tell(member, SIGINT);
        }
    }
}

Sweep::Sweep(Loop& loop, std::string mark, std::function<void(const std::vector<pid_t>& left)> when_done)
    : loop_(loop), mark_(std::move(mark)), when_done_(std::move(when_done)) {}

void Sweep::begin(What what, const Ending& ending) {
    if (!under_way_ || (what == What::job && what_ == What::leftovers)) {
        under_way_ = true;
        what_ = what;
        const int number = ++count_;
        const ProcessScope scope{.mark = what == What::job ? mark_ : "", .root = ::getpid()};
        killer_ = std::make_unique<ProcessKiller>(
            loop_, scope,
            [this, number](std::vector<pid_t> left) {
                loop_.after(0, [this, number, left = std::move(left)] {
                    if (number == count_) {
                        under_way_ = false;
                        when_done_(left);
                    }
                });
            },
            killer_ ? killer_->told() : ProcessKiller::ToldList());
        killer_->on_ranks_gone = on_ranks_gone;
    }
    killer_->begin(ending);
}

void Sweep::go_on() {
    if (killer_) {
        killer_->go_on();
    }
}

void Sweep::look() {
    if (killer_) {
        killer_->look();
    }
}

std::vector<pid_t> end_processes(const ProcessScope& scope, const Ending& ending) {
    Loop loop;
    std::vector<pid_t> left;
    bool done = false;
    ProcessKiller killer(loop, scope, [&](std::vector<pid_t> still_there) {
        left = std::move(still_there);
        done = true;
        loop.stop();
    });
    killer.begin(ending);
    if (!done) {
        loop.run();
    }
    return left;
}

} // namespace dockdist::node
