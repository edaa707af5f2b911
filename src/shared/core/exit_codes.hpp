// The exit codes that mean something: of dockdist itself, and of what it starts, as a shell reports them.
#pragma once

namespace dockdist::exit_codes {

inline constexpr int failed = 1;      // something on the cluster failed
inline constexpr int wrong_input = 2; // the command line or cluster.yaml is wrong
inline constexpr int gpus_taken = 75; // others have the GPUs, try again later (EX_TEMPFAIL of sysexits.h)
inline constexpr int timed_out =
    124; // as timeout(1): --timeout, and a job that was stopped because it stalled or was idle
inline constexpr int own_failure = 125;  // as `docker run`: dockdist has failed, of commands that answer with
                                         // another program's code; and of all, where there is no such job
inline constexpr int cannot_start = 126; // the program is there, and does not start
inline constexpr int not_found = 127;    // the program is not there

// Of a process that a signal has ended.
constexpr int by_signal(int signal) {
    return 128 + signal;
}
inline constexpr int interrupted = 130; // by Ctrl-C, which is 128 + SIGINT

} // namespace dockdist::exit_codes
