// PID 1 watches over the supervisor of each job: nothing in the container can stop PID 1 itself. It has a
// copy of the lock of the job's units, so that they are free only when nothing is left of the job, however
// its supervisor ends. And it hears the supervisor's beat. One that is silent for its patience cannot keep
// what is promised of --timeout, --lease and stop: it was stopped, or it hangs. Then all of the job is ended,
// and said so in its record, by `dockdist-init job end` (node/job/job_command.cpp), a process of its own: to
// look at processes can take for ever, where they hang in the kernel.
//
// Over PID 1's socket (node/boot/init_channel.hpp), which root alone can reach:
//   {"do":"guard","job":"…","patience_ms":N}  by the supervisor, with the lock's descriptor as SCM_RIGHTS
//   where
//                                             it has units. Each datagram that follows on it is a beat, or
//                                             the word that nothing is left of the job
//   {"do":"detached","job":"…"}               likewise: when the container stops, this one ends before its
//   ways
//                                             to the job's other nodes do
//   {"do":"give_up","job":"…"}                by `job stop`, which it has not obeyed
#pragma once

#include "node/system/helper_run.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "node/system/process_killer.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

// The supervisor's side, in its loop. Nothing where no PID 1 of ours is there, as under test.
class GuardedJob {
public:
    // `lock`: -1 where it holds no units; it stays the caller's.
    GuardedJob(Loop& loop, std::string job, std::int64_t lease_ms, int lock);
    ~GuardedJob();
    GuardedJob(const GuardedJob&) = delete;
    GuardedJob& operator=(const GuardedJob&) = delete;

    void is_detached() const;
    void is_over() const; // nothing is left of the job but this process, which ends

private:
    void beat();

    Loop& loop_;
    std::string job_;
    std::int64_t patience_ms_;
    Fd line_{};
    Loop::Timer timer_ = 0;
};

// Whether PID 1 was told. It ends the job, soon.
bool give_up_job(const std::string& job);

// How long a supervisor may be silent: as long as its job may be without a client, within bounds.
std::int64_t patience_with(std::int64_t lease_ms);

// A datagram, and the descriptor that came with it, if one did. Does not wait.
struct Received {
    std::string text{};
    Fd descriptor{};
};
Received receive_with_descriptor(int socket, std::size_t limit);

// In PID 1.
class JobGuards {
public:
    explicit JobGuards(Loop& loop) : loop_(loop) {}
    JobGuards(const JobGuards&) = delete;
    JobGuards& operator=(const JobGuards&) = delete;

    // `supervisor` is a process that this one reaps, or is gone already; it beats on `line`.
    void add(const std::string& job, pid_t supervisor, std::int64_t patience_ms, Fd lock, Fd line);
    void on_exit(pid_t pid);
    void is_detached(const std::string& job);
    void give_up(const std::string& job);
    void stop_detached() const;
    bool has_detached() const;
    std::size_t count() const { return guards_.size(); }

private:
    struct Guard {
        std::string job{};
        pid_t supervisor = 0; // 0: it is gone
        std::int64_t patience_ms = 0;
        Fd lock{}, line{};
        bool detached = false;
        bool over = false;
        int silent_looks = 0;
        std::int64_t pause_ms = 0; // before the next try to end what is left
        Loop::Timer timer = 0;
        std::unique_ptr<HelperRun> ending{};
        std::unique_ptr<ProcessKiller> killer{}; // where no process is to be had
    };
    void hear(Guard& guard);
    void look(Guard& guard);
    void give_up(Guard& guard);
    void end_the_rest(Guard& guard);
    void end_it_here(Guard& guard);
    void ended(Guard& guard, bool nothing_left);

    Loop& loop_;
    std::list<Guard> guards_{};
};

} // namespace dockdist::node
