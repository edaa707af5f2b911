#include "shared/diagnosis/cause.hpp"

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

using State = wire::RankStack::State;

constexpr int works_percent = 5; // of a processor; watchdogs and keep-alives take about one
constexpr std::int64_t works_bytes = 4096;
constexpr int waits_percent = 20; // in the backward pass
constexpr int spins_percent = 90;
constexpr std::int64_t spins_ms = 30'000; // in one native call, before that is a finding

const wire::ThreadStack* gil_holder(const wire::RankStack& stack) {
    const auto found = std::ranges::find(stack.threads, true, &wire::ThreadStack::holds_gil);
    return found == stack.threads.end() ? nullptr : &*found;
}

// A loop of Python's, which may well come to its end, holds the GIL.
bool spins(const JudgedRank& one) {
    const auto& stack = *one.rank->stack;
    return !stack.moves && stack.cpu_percent >= spins_percent && stack.io_bytes < works_bytes &&
           one.rank->stands_ms >= spins_ms && gil_holder(stack) == nullptr;
}

bool reads_input(const wire::RankStack& stack) {
    return stack.reads.starts_with("/dev/pts") || stack.waits_in == "n_tty_read";
}

std::string children_words(const wire::RankStack& stack) {
    for (const auto& child : stack.children) {
        if (!child.frames.empty()) {
            const auto place = place_of({.frames = child.frames});
            return "; its process " + std::to_string(child.pid) + " is " + child.state + " in " +
                   frame_words(child.frames[place.frame]);
        }
    }
    return stack.children.empty() ? ""
                                  : "; its process " + std::to_string(stack.children.front().pid) + " is " +
                                        stack.children.front().state;
}

} // namespace

std::string_view to_string(HangCause cause) {
    constexpr std::array<std::string_view, 17> names{
        "stopped",     "debugger",     "kernel_wait", "holds_gil", "ended",  "input",
        "native_spin", "never_joined", "data_loader", "lock",      "stands", "other_collective",
        "gpu_fault",   "network",      "peers",       "busy",      "unknown"};
    return names.at(static_cast<std::size_t>(cause));
}

std::string_view to_string(RestartHelps helps) {
    constexpr std::array<std::string_view, 3> names{"yes", "no", "unknown"};
    return names.at(static_cast<std::size_t>(helps));
}

RestartHelps restart_helps(HangCause cause) {
    switch (cause) {
    case HangCause::stopped:
        return RestartHelps::yes;
    case HangCause::kernel_wait:
    case HangCause::ended:
    case HangCause::input:
    case HangCause::debugger:
    case HangCause::other_collective:
        return RestartHelps::no;
    default:
        return RestartHelps::unknown;
    }
}

JudgedRank judged(const LocatedStack& rank) {
    JudgedRank one{.rank = &rank};
    const auto* const main = wire::main_thread(rank.stack->threads, rank.stack->pid);
    if (main == nullptr || main->frames.empty()) {
        return one;
    }
    one.known = true;
    one.place = place_of(*main);
    one.frame = &main->frames[one.place.frame];
    // NCCL's and gloo's waits may spin: what a rank that waits takes of a processor says nothing.
    const bool stands = rank.stack->state == State::running || rank.stack->state == State::sleeping;
    one.waits =
        stands && (one.place.business == Business::collective || one.place.business == Business::rendezvous ||
                   (one.place.business == Business::backward && rank.stack->cpu_percent < waits_percent));
    one.waits_for_gpu = main->frames.front().file.find("torch/cuda/") != std::string::npos;
    return one;
}

bool works(const wire::RankStack& stack) {
    return stack.moves || std::max(stack.cpu_percent, stack.tree_cpu_percent) >= works_percent ||
           stack.io_bytes >= works_bytes;
}

HangCause cause_of(const JudgedRank& one, bool at_rendezvous) {
    const auto& stack = *one.rank->stack;
    switch (stack.state) {
    case State::stopped:
        return HangCause::stopped;
    case State::traced:
        return HangCause::debugger;
    case State::in_kernel:
        return stack.moves ? HangCause::busy : HangCause::kernel_wait;
    case State::ended:
        return HangCause::ended;
    case State::ending:
        return HangCause::busy;
    case State::running:
    case State::sleeping:
        break;
    }
    if (spins(one)) {
        return HangCause::native_spin;
    }
    if (works(stack)) {
        return HangCause::busy;
    }
    if (!one.known) {
        return HangCause::unknown;
    }
    if (one.place.business == Business::debugger) {
        return HangCause::debugger;
    }
    if (reads_input(stack)) {
        return HangCause::input;
    }
    if (gil_holder(stack) != nullptr) {
        return HangCause::holds_gil;
    }
    if (one.place.business == Business::data) {
        return HangCause::data_loader;
    }
    if (at_rendezvous) {
        return HangCause::never_joined;
    }
    return one.place.business == Business::lock || stack.waits_in.starts_with("futex") ? HangCause::lock
                                                                                       : HangCause::stands;
}

CauseWords words_of(const JudgedRank& one, HangCause cause) {
    const auto& stack = *one.rank->stack;
    const auto where = one.frame == nullptr ? std::string() : ", in " + frame_words(*one.frame);
    const auto reads = stack.reads.empty() ? std::string() : ", for the bytes of " + stack.reads;
    switch (cause) {
    case HangCause::stopped:
        return {"it was stopped (SIGSTOP)" + where,
                "somebody or something has stopped it: `kill -CONT` lets it go on"};
    case HangCause::debugger:
        return {"a debugger holds it" + where, "let the debugger go"};
    case HangCause::kernel_wait:
        return {"it waits in the kernel" + (stack.waits_in.empty() ? "" : " in " + stack.waits_in) + where +
                    reads,
                "a file server, a disk or a driver does not answer there; a restart on that node does not "
                "help while it is so"};
    case HangCause::holds_gil:
        return {"it holds Python's GIL and does nothing" + where,
                "a call into C that does not come back keeps its other threads from running"};
    case HangCause::ended:
        return {
            "it has ended, with exit code 0",
            "it had fewer steps than the others: give each rank as many, or use Join of torch.distributed"};
    case HangCause::input:
        return {"it waits for input" + where, "it is no hang: somebody has to type, or the line has to go"};
    case HangCause::native_spin:
        return {"it computes in native code, and does not leave it" + where,
                "see what that line calls: `dockdist stacks --threads`, or gdb in the image"};
    case HangCause::never_joined:
        return {"it has not joined the others" + where + reads, "see what that line waits for"};
    case HangCause::data_loader:
        return {"it " + business_text(one.place.business) + where + children_words(stack),
                "see its data loader's processes: `--threads`, and the file server that they read from"};
    case HangCause::lock:
        return {(one.place.business == Business::lock ? "it " + business_text(one.place.business)
                                                      : std::string("it waits for a lock")) +
                    where,
                ""};
    case HangCause::busy: {
        if (stack.state == State::ending) {
            return {"it is ending", ""};
        }
        const bool holds = !stack.moves && gil_holder(stack) != nullptr;
        return {std::string(holds ? "it works, and holds Python's GIL" : "it works") + where,
                holds ? "a call into C that does not come back keeps its other threads from running"
                      : "it is slower than the others, or has more to do"};
    }
    default:
        return {"it " + business_text(one.place.business) + where + reads, ""};
    }
}

std::string frame_words(const wire::StackFrame& frame) {
    return frame_text({frame.function, frame.file.substr(frame.file.rfind('/') + 1), frame.line});
}

std::string rank_words(const JudgedRank& one) {
    return (one.rank->stack->rank < 0 ? "the command" : "rank " + std::to_string(one.rank->stack->rank)) +
           " on " + one.rank->node;
}

std::string await_words(const JudgedRank& one) {
    const auto* const main = wire::main_thread(one.rank->stack->threads, one.rank->stack->pid);
    std::string call;
    for (std::size_t i = 0; main != nullptr && i < one.place.frame; ++i) { // from the inside
        const auto& frame = main->frames[i];
        const bool torch = frame.file.find("torch/distributed/") != std::string::npos;
        if (torch && frame.function != "wrapper") { // of its logging
            call = frame.function + ", ";
        }
    }
    return one.frame == nullptr ? std::string() : call + frame_words(*one.frame);
}

} // namespace dockdist
