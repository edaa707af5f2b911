// What srun and the parts of its step say to each other: wire frames through one ssh a node.
//
//   srun → part   StepOpening, StepStart: control frames; then, at any time
//                 {"type":"signal","number":N}    to every task
//                 {"type":"end","grace_ms":N}     TERM to all processes of the step there, then KILL;
//                 "signal": it in place of TERM; "with_job": their job ends, and a node with a part of it
//                 passes over this: its supervisor tells the step
//                 an output frame of stream 0: bytes for stdin, of task `rank` or of all_tasks; empty: its
//                 end
//   part → srun   {"type":"prepared",…StepPrepared}; {"type":"error","message"} in its place, or later
//                 output frames: what a task wrote, `rank` is its number
//                 {"type":"task_ended",…TaskEnd}, behind all that it wrote until then
//                 {"type":"ended"}: no process of the step is left there
//
// The part ends everything when its stdin ends: whatever ends srun, or the way to it, ends the step.
#pragma once

#include "shared/core/result.hpp"

#include <csignal>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

inline constexpr int all_tasks = -1;
inline constexpr int no_task = -2;

struct StepOpening {
    std::string step{};      // a name of its own for each srun
    int tasks = 0;           // there
    int gpus = -1;           // that they may see together; -1: all
    int gpus_per_task = 0;   // 0: each sees all of these
    bool overcommit = false; // more tasks than the job there has units
    int ports = 0;           // to reserve until the end
};

struct StepPrepared {
    std::vector<int> ports{};
    int gpus = 0; // that the tasks see together
};

struct StepStart {
    std::vector<std::string> argv{};
    std::map<std::string, std::string> env{}; // over the session's own
    std::vector<std::string> unset{};         // of the session's own; env wins
    std::string folder{};                     // where it is not there, the tasks run in /tmp
    int first_rank = 0;
    int world = 0;
    int input_of = no_task; // which task's stdin something will come for; the others' is empty
};

struct TaskEnd {
    int rank = 0;
    int code = 0; // as a shell reports it
    int signal = 0;
};

struct StepMessage {
    enum class Type { opening, start, signal, end, prepared, error, task_ended, ended };
    Type type = Type::error;
    StepOpening opening{};
    StepStart start{};
    int number = 0;            // signal
    std::int64_t grace_ms = 0; // end, as are the next two
    int signal = SIGTERM;
    bool with_job = false;
    StepPrepared prepared{};
    std::string message{}; // error
    TaskEnd task{};
};

std::string step_frame(const StepMessage& message);
Result<StepMessage> parse_step_message(std::string_view payload);

} // namespace dockdist::node
