// Why one rank keeps others waiting, from two looks at its process: its state, what it took of processors and
// disks between the two, and where it stood. Pure.
#pragma once

#include "shared/diagnosis/place.hpp"
#include "shared/wire/stacks.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dockdist {

// The surest first. Behind `busy` nothing is sure.
enum class HangCause {
    stopped,          // SIGSTOP
    debugger,         // traced, or in a debugger's own code
    kernel_wait,      // D: a file server, a disk, a driver
    holds_gil,        // and does nothing
    ended,            // while others wait for it
    input,            // waits for somebody to type
    native_spin,      // computes in one native call that does not come back
    never_joined,     // the others wait for it to come
    data_loader,      // its next batch does not come
    lock,             // waits for a lock
    stands,           // somewhere else, and does nothing
    other_collective, // it waits, but for something else than the others
    gpu_fault,        // a GPU of its node is known to be faulty, and all wait
    network,          // all wait, and what a node sends to another one is not answered
    peers,            // all wait for each other at one place
    busy,             // works, or moves: slow, no hang
    unknown
};
std::string_view to_string(HangCause cause); // as in JSON

enum class RestartHelps { yes, no, unknown };
std::string_view to_string(RestartHelps helps);
RestartHelps restart_helps(HangCause cause);

struct LocatedStack {
    std::string node{};
    const wire::RankStack* stack = nullptr;
    std::int64_t stands_ms = 0; // how long its main thread has been seen at this place, look after look
};

struct JudgedRank {
    const LocatedStack* rank = nullptr;
    CodePlace place{};
    const wire::StackFrame* frame = nullptr; // of its own code
    bool known = false;                      // its stack was read
    bool waits = false;                      // for other ranks
    bool waits_for_gpu = false;              // perhaps: what it waits for may be its own GPU's
};
JudgedRank judged(const LocatedStack& rank);

// Between the two looks: its tree took processor time, read or wrote, or it stood elsewhere.
bool works(const wire::RankStack& stack);

// Why it does not wait with the others. `at_rendezvous`: they wait for ranks to come.
HangCause cause_of(const JudgedRank& one, bool at_rendezvous);
struct CauseWords {
    std::string reason{}; // what goes on with "rank 3 on node-1: "
    std::string hint{};   // what to do; may be empty
};
CauseWords words_of(const JudgedRank& one, HangCause cause);

// By the file's name alone: "step (train.py:12)".
std::string frame_words(const wire::StackFrame& frame);
std::string rank_words(const JudgedRank& one);
// The collective that it waits in, and where: "all_reduce, step (train.py:12)".
std::string await_words(const JudgedRank& one);

} // namespace dockdist
