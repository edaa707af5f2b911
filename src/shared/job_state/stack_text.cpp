#include "shared/job_state/stack_text.hpp"

#include "shared/core/units.hpp"
#include "shared/diagnosis/place.hpp"

#include <chrono>

namespace dockdist {
namespace {

using State = wire::RankStack::State;

std::string state_words(const wire::RankStack& stack) {
    std::string words = stack.state == State::in_kernel ? "waits in the kernel"
                        : stack.state == State::stopped ? "is stopped (SIGSTOP)"
                        : stack.state == State::traced  ? "is held by a debugger"
                        : stack.state == State::running ? "runs"
                                                        : "sleeps";
    if (stack.state != State::running && !stack.waits_in.empty()) {
        words += " in " + stack.waits_in;
    }
    return words;
}

void add(std::string& text, const std::string& line) {
    text += "dockdist: " + line + "\n";
}

} // namespace

std::string process_text(const wire::RankStack& stack) {
    if (stack.state == State::ending) {
        return "its process is just ending";
    }
    if (stack.pid == 0) {
        return stack.problem;
    }
    return "process " + std::to_string(stack.pid) + " (" + stack.command + ") " + state_words(stack) + ", " +
           std::to_string(stack.cpu_percent) + " % CPU, " + std::to_string(stack.thread_count) +
           (stack.thread_count == 1 ? " thread" : " threads");
}

std::string thread_text(const wire::ThreadStack& thread) {
    return (thread.name.empty() ? "thread " + std::to_string(thread.id) : thread.name) +
           (thread.holds_gil ? ", holds the GIL"
            : thread.active  ? ", active"
                             : "");
}

std::string stack_text(const wire::RankStack& stack, bool advises) {
    std::string text;
    add(text, "wrote nothing for " + format_duration(std::chrono::milliseconds(stack.silent_ms)) + "; " +
                  process_text(stack));
    if (!stack.tool.empty()) {
        add(text, stack.tool + (stack.moves ? ", which saw it move:" : ":"));
    }
    for (const auto& thread : stack.threads) {
        add(text, "    " + thread_text(thread));
        for (const auto& frame : thread.frames) {
            add(text, "        " + frame_text(frame));
        }
    }
    for (const auto& line : stack.lines) {
        add(text, "    " + line);
    }
    const bool helps = advises && !stack.advice.empty();
    if (stack.pid != 0 && (helps || !stack.problem.empty())) {
        add(text,
            stack.problem + (helps && !stack.problem.empty() ? "; " : "") + (helps ? stack.advice : ""));
    }
    return text;
}

} // namespace dockdist
