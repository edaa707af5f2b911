// Who of a job's processes is told that it is to end, and in which order: each once, as whoever starts it by
// hand would have it told.
//
// A process is told when nobody above it is there to hand the signal on. So a training script is told and not
// its data loader's workers, without which it could not save; they are told when it is gone. Who does not
// hear the signal is passed over, as is a shell that has a trap for it, for what it waits for: the trap comes
// after that (POSIX, 2.11). A gate (a rank's shim, a node's part of a step) is always told, and hands it on
// to what it has started, once, whoever else sends it a signal.
#pragma once

#include "node/system/process_stat.hpp"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

// What gates are called, so that others know them: they name themselves so (prctl, PR_SET_NAME).
inline constexpr const char* rank_gate = "dockdist-rank";
inline constexpr const char* step_gate = "dockdist-step";
void become_gate(const char* name);

// A process of the job, as far as this matters.
struct Hearer {
    pid_t pid = 0, parent = 0, group = 0;
    enum class Kind {
        other,
        gate,
        passer, // dockdist's own, which hands nothing on
        shell,
    };
    Kind kind = Kind::other;
    std::uint64_t ignored = 0, caught = 0; // signals, one bit each from the lowest on
    bool hears(int signal) const { return (ignored >> (signal - 1) & 1U) == 0; }
    bool catches(int signal) const { return (caught >> (signal - 1) & 1U) != 0; }
    std::int64_t started_ticks = 0; // with the pid and
    std::string program{};          // its path: who has been told
};

Hearer look_at(const ProcessStat& process);

// Pure: of `members`, none of which has ended.
std::set<pid_t> below_gates(const std::vector<Hearer>& members);
std::set<pid_t> select_hearers(const std::vector<Hearer>& members, int signal);

// Pure: the number of a "Name:\tHEX" line of /proc/PID/status (proc(5)); 0 where there is none.
std::uint64_t signal_set(std::string_view status, std::string_view name);

} // namespace dockdist::node
