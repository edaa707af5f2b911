// Finding every process of a job in this container, and ending them.
#pragma once

#include "node/system/hearers.hpp"
#include "node/system/loop.hpp"

#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/signalfd.h>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

// The mark of a supervisor's own helpers: no job's, and of no scope.
inline constexpr const char* helper_mark = ":helper";

// A process belongs when its environment bears DOCKDIST_JOB=<mark>, when it descends from one that does or
// from `root`, or when it is of the session of one of those, whatever it says of itself: a process chooses
// its environment. The caller never belongs, nor do its helpers (spare_helper).
struct ProcessScope {
    std::string mark{};
    pid_t root = 0;           // its descendants belong, itself does not; 0: none
    std::set<pid_t> spared{}; // these never belong
};
std::vector<pid_t> find_processes(const ProcessScope& scope);

// The gates among these (node/system/hearers.hpp), and what they have started.
std::set<pid_t> find_gated(const ProcessScope& scope);

// What people have set free of the session that `command` leads, so that it outlives it, as it would outlive
// a login: what does not hear hangups (nohup), what runs in a session of its own and has lost its parent
// (setsid, tmux, screen, a daemon), and all that descends from these. `root`: the parent of `command`, which
// orphans come to.
std::set<pid_t> find_set_free(pid_t root, pid_t command);

// Pure part of it.
struct ProcessEntry {
    pid_t pid = 0, parent = 0, session = 0;
    bool zombie = false;
    std::string mark{}; // of its environment; empty: none
    bool deaf = false;  // it ignores hangups; known where that was looked for
};
std::vector<pid_t> select_processes(const std::vector<ProcessEntry>& all, const ProcessScope& scope,
                                    pid_t self, pid_t own_session);
std::set<pid_t> select_set_free(const std::vector<ProcessEntry>& all, pid_t root, pid_t command);

// The values that signals of a job's end bear. Who hands signals on passes over them, but for gates
// (node/system/hearers.hpp): these hand them on to what they have started, and once.
inline constexpr int told_to_all = 0x646f636b;
inline constexpr int told_to_ranks =
    0x72616e6b; // a gate stays after what it has started, until it is told to_all

bool is_of_an_end(const signalfd_siginfo& signal);

struct Ending {
    std::int64_t grace_ms = 0; // between the signal and KILL
    int signal = SIGTERM;      // who does not hear it gets TERM
    // What gates have started first. The rest gets TERM when that is gone, and a few seconds: launchers that
    // hear of the end, or see a rank go, end the other ranks after a time of their own.
    bool ranks_first = false;
    bool rest_waits = false; // for go_on(), or until the grace is over
};

// The signal (and CONT) for each once (node/system/hearers.hpp), then KILL after the grace, again and again
// until none is left, or for ten seconds after the first KILL. What is still there then sleeps in the kernel.
class ProcessKiller {
public:
    // Who has been told, and by which value.
    struct Told {
        std::int64_t started_ticks = 0;
        std::string program{};
        int value = 0;
    };
    using ToldList = std::map<pid_t, Told>;

    ProcessKiller(Loop& loop, ProcessScope scope, std::function<void(std::vector<pid_t> left)> when_done,
                  ToldList told = {});
    ~ProcessKiller() { loop_.cancel(timer_); }
    ProcessKiller(const ProcessKiller&) = delete;
    ProcessKiller& operator=(const ProcessKiller&) = delete;

    std::function<void()> on_ranks_gone{}; // once, where the rest waits
    void begin(const Ending& ending);      // again: a shorter grace wins
    void begin(std::int64_t grace_ms) { begin(Ending{.grace_ms = grace_ms}); }
    void go_on();
    bool begun() const { return begun_; }
    void look(); // something has ended: look at once
    const ToldList& told() const { return told_; }

private:
    void step();
    bool ranks_are_gone(bool some, std::int64_t now);
    void end_rest(std::int64_t now);
    bool must_be_told(const Hearer& hearer);
    void tell(const std::vector<Hearer>& members);
    void tell(const Hearer& hearer, int signal);
    void kill(const std::vector<Hearer>& members, const std::set<pid_t>& below) const;
    int value() const { return ranks_ ? told_to_ranks : told_to_all; }

    Loop& loop_;
    ProcessScope scope_;
    std::function<void(std::vector<pid_t> left)> when_done_;
    ToldList told_;
    Loop::Timer timer_ = 0;
    Ending ending_{};
    std::int64_t kill_at_ms_ = 0;
    std::int64_t give_up_at_ms_ = 0;
    std::int64_t gates_from_ms_ = 0;
    std::int64_t pause_ms_ = 0;
    bool begun_ = false;
    bool ranks_ = false;     // it is their turn
    bool gone_told_ = false; // that they are gone
    bool rest_ = false;      // it is the turn of what ranks_first has left
    bool done_ = false;
};

// What a job's supervisor ends, one sweep at a time; a wider one takes the narrower one's place. Nobody is
// told twice.
class Sweep {
public:
    Sweep(Loop& loop, std::string mark, std::function<void(const std::vector<pid_t>& left)> when_done);

    enum class What {
        leftovers, // this process's own descendants
        job,       // these, and everything with the mark
    };
    std::function<void()> on_ranks_gone{}; // as the ProcessKiller's
    // Again: a shorter grace wins. It is never done at once, whoever orders it is still speaking.
    void begin(What what, const Ending& ending);
    void go_on();
    bool under_way() const { return under_way_; }
    void look();
    void forget() { killer_.reset(); } // who was told: of the attempt before

private:
    Loop& loop_;
    std::string mark_;
    std::function<void(const std::vector<pid_t>& left)> when_done_;
    std::unique_ptr<ProcessKiller> killer_{};
    What what_ = What::leftovers;
    bool under_way_ = false;
    int count_ = 0; // the latest one counts
};

// Blocks until they are gone; the processes that could not be ended.
std::vector<pid_t> end_processes(const ProcessScope& scope, const Ending& ending);
inline std::vector<pid_t> end_processes(const ProcessScope& scope, std::int64_t grace_ms) {
    return end_processes(scope, Ending{.grace_ms = grace_ms});
}

} // namespace dockdist::node
