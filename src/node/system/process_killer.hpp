// Finding every process of a job in this container, and ending them.
#pragma once

#include "node/system/loop.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
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

// The value that a TERM bears which every process of the job gets: what forwards signals need not forward
// this one.
inline constexpr int told_to_all = 0x646f636b;

// TERM (and CONT), then KILL after the grace, again and again until none is left, or for ten seconds after
// the first KILL. What is still there then sleeps in the kernel.
class ProcessKiller {
public:
    ProcessKiller(Loop& loop, ProcessScope scope, std::function<void(std::vector<pid_t> left)> when_done);
    ~ProcessKiller() { loop_.cancel(timer_); }
    ProcessKiller(const ProcessKiller&) = delete;
    ProcessKiller& operator=(const ProcessKiller&) = delete;
    void begin(std::int64_t grace_ms); // again: a shorter grace wins
    bool begun() const { return begun_; }
    void look(); // something has ended: look at once

private:
    void step();
    bool must_be_told(pid_t pid);

    Loop& loop_;
    ProcessScope scope_;
    std::function<void(std::vector<pid_t> left)> when_done_;
    std::map<pid_t, std::string> told_{}; // pid → the program that it was when it was told to end
    Loop::Timer timer_ = 0;
    std::int64_t kill_at_ms_ = 0;
    std::int64_t give_up_at_ms_ = 0;
    std::int64_t pause_ms_ = 0;
    bool begun_ = false;
    bool done_ = false;
};

// What a job's supervisor ends, one sweep at a time; a wider one takes the narrower one's place.
class Sweep {
public:
    Sweep(Loop& loop, std::string mark, std::function<void(const std::vector<pid_t>& left)> when_done);

    enum class What {
        leftovers, // this process's own descendants
        job,       // these, and everything with the mark
    };
    // Again: a shorter grace wins. It is never done at once, whoever orders it is still speaking.
    void begin(What what, std::int64_t grace_ms);
    bool under_way() const { return under_way_; }
    void look();

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
std::vector<pid_t> end_processes(const ProcessScope& scope, std::int64_t grace_ms);

} // namespace dockdist::node
