// PID 1 keeps a copy of the lock of each job's units: however the job's supervisor ends, the units are free
// only when PID 1 has ended what is left of the job.
//
// Over PID 1's socket (node/boot/init_channel.hpp), by the supervisor itself:
//   {"do":"guard","job":"…"} and the descriptor as SCM_RIGHTS   → {"ok":true}
//   {"do":"detached","job":"…"}                                 → {"ok":true}, where it is guarded
#pragma once

#include "core/result.hpp"
#include "node/system/loop.hpp"
#include "node/system/os.hpp"
#include "node/system/process_killer.hpp"

#include <list>
#include <memory>
#include <string>
#include <sys/types.h>

namespace dockdist::node {

// Asks for it, for the calling process. Nothing to do for a descriptor of -1; nor where no PID 1 of ours is
// there, as under test.
Status guard_units(const std::string& job, int descriptor);
// When the container stops, the calling process ends before its ways to the job's other nodes do.
void tell_detached(const std::string& job);

// A datagram, and the descriptor that came with it, if one did.
struct Received {
    std::string text{};
    Fd descriptor{};
};
Received receive_with_descriptor(int socket, std::size_t limit);

// In PID 1.
class UnitGuards {
public:
    explicit UnitGuards(Loop& loop) : loop_(loop) {}
    // `supervisor` is a process that this one reaps, or is gone already.
    void add(const std::string& job, pid_t supervisor, Fd lock);
    void on_exit(pid_t pid);
    void is_detached(const std::string& job);
    void stop_detached() const;
    bool has_detached() const;
    std::size_t count() const { return guards_.size(); }

private:
    struct Guard {
        std::string job{};
        pid_t supervisor = 0;
        Fd lock{};
        bool detached = false;
        std::unique_ptr<ProcessKiller> killer{};
    };
    void end_the_rest(Guard& guard);

    Loop& loop_;
    std::list<Guard> guards_{};
};

} // namespace dockdist::node
