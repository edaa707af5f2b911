#include "client/job/stack_groups.hpp"

#include "client/job/gpu_text.hpp"
#include "client/report/display_text.hpp"
#include "shared/core/units.hpp"
#include "shared/diagnosis/place.hpp"
#include "shared/job_state/stack_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t most_frames = 24; // of a thread

// Without what differs from process to process: addresses, numbers of threads.
std::string shape_of(const std::string& line) {
    std::string shape;
    for (const char letter : line) {
        const bool digit = std::isxdigit(static_cast<unsigned char>(letter)) != 0 &&
                           (!shape.empty() &&
                            (shape.back() == '#' || std::isdigit(static_cast<unsigned char>(letter)) != 0));
        if (!digit) {
            shape += letter;
        } else if (shape.empty() || shape.back() != '#') {
            shape += '#';
        }
    }
    return shape;
}

// Equal where two ranks stand at the same place.
std::string place_of(const wire::RankStack& stack) {
    std::string place;
    const auto* main = wire::main_thread(stack.threads, stack.pid);
    if (main == nullptr && !stack.threads.empty()) {
        main = &stack.threads.back();
    }
    if (main != nullptr) {
        for (const auto& frame : main->frames) {
            place += frame_text(frame) + "\n";
        }
        return place;
    }
    for (const auto& line : stack.lines) {
        place += shape_of(line) + "\n";
    }
    return place.empty()
               ? std::string(wire::to_string(stack.state)) + "\n" + stack.waits_in + "\n" + stack.command
               : place;
}

std::string plural(std::size_t count, std::string_view one) {
    return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// "ranks 0-2 on node-0, 4 on node-1".
std::string ranks_text(const StackGroup& group) {
    std::vector<std::pair<NodeName, std::vector<int>>> nodes;
    for (const auto* each : group) {
        if (nodes.empty() || nodes.back().first != each->node) {
            nodes.emplace_back(each->node, std::vector<int>());
        }
        nodes.back().second.push_back(each->stack.rank);
    }
    std::string text;
    for (const auto& [node, numbers] : nodes) {
        const bool unnumbered = numbers.front() < 0;
        text += text.empty() ? (unnumbered                                 ? "the command on "
                                : numbers.size() == 1 && nodes.size() == 1 ? "rank "
                                                                           : "ranks ")
                             : ", ";
        text += unnumbered ? node.str() : fmt::format("{} on {}", ranges_text(numbers), node.str());
    }
    return text;
}

std::string silence_of(const StackGroup& group) {
    auto silent = group.front()->stack.silent_ms;
    for (const auto* each : group) {
        silent = std::min(silent, each->stack.silent_ms);
    }
    return (group.size() == 1 ? "silent for " : "silent for at least ") +
           format_duration(std::chrono::milliseconds(silent));
}

void add_thread(std::string& text, const wire::ThreadStack& thread) {
    text += "    " + thread_text(thread) + "\n";
    for (std::size_t i = 0; i < thread.frames.size(); ++i) {
        if (i == most_frames) {
            text += fmt::format("      … {} more\n", thread.frames.size() - i);
            return;
        }
        text += "      " + frame_text(thread.frames[i]) + "\n";
    }
}

void add_threads(std::string& text, const wire::RankStack& stack, ShownThreads shown) {
    const auto* const main = wire::main_thread(stack.threads, stack.pid);
    std::size_t left_out = 0;
    for (const auto& thread : stack.threads) {
        if (shown == ShownThreads::all || &thread == main || thread.holds_gil || main == nullptr) {
            add_thread(text, thread);
        } else {
            ++left_out;
        }
    }
    if (left_out > 0) {
        text += fmt::format("    {} more {} (--threads)\n", left_out, left_out == 1 ? "thread" : "threads");
    }
}

void add_group(std::string& text, const StackGroup& group, ShownThreads threads) {
    const auto& stack = group.front()->stack;
    text += fmt::format("\n{}: {}\n", ranks_text(group), silence_of(group));
    text += fmt::format("  {}{}\n", process_text(stack),
                        std::ranges::any_of(group, [](const auto* each) { return each->stack.moves; })
                            ? "; it moved while it was looked at"
                            : "");
    add_threads(text, stack, threads);
    for (const auto& line : stack.lines) {
        text += "    " + line + "\n";
    }
    if (stack.pid != 0 && stack.tool.empty()) {
        text += "  " + stack.problem + (stack.problem.empty() || stack.advice.empty() ? "" : "; ") +
                stack.advice + "\n";
    }
}

void add_evidence(std::string& text, std::string_view source, const Evidence& evidence) {
    if (!evidence.text.empty()) {
        text += fmt::format("{}: {}\n", source, evidence.text);
        text += evidence.hint.empty() ? "" : "  → " + evidence.hint + "\n";
    }
}

} // namespace

std::vector<StackGroup> group_stacks(const std::vector<PlacedStack>& ranks) {
    std::map<std::string, StackGroup> places;
    for (const auto& each : ranks) {
        places[place_of(each.stack)].push_back(&each);
    }
    std::vector<StackGroup> groups;
    for (auto& [place, group] : places) {
        groups.push_back(std::move(group));
    }
    std::ranges::sort(groups, [](const StackGroup& one, const StackGroup& other) {
        return one.size() != other.size() ? one.size() > other.size()
                                          : one.front()->stack.rank < other.front()->stack.rank;
    });
    return groups;
}

HangVerdict judge_stacks(const std::vector<PlacedStack>& ranks) {
    std::vector<LocatedStack> located;
    for (const auto& each : ranks) {
        located.push_back({each.node.str(), &each.stack});
    }
    return judge(located);
}

std::string stacks_text(const JobId& job, const JobStacks& stacks, ShownThreads threads,
                        const OutputTraits& output) {
    const auto& ranks = stacks.ranks;
    const auto groups = group_stacks(ranks);
    if (groups.empty()) {
        return job.str() + ": no rank runs just now\n";
    }
    std::string text =
        groups.size() == 1
            ? fmt::format("{}: {} at one place\n", job.str(), plural(ranks.size(), "rank"))
            : fmt::format("{}: {} at {} places\n", job.str(), plural(ranks.size(), "rank"), groups.size());
    if (const auto verdict = judge_stacks(ranks); verdict.kind != HangVerdict::Kind::none) {
        text += verdict.text + "\n" + (verdict.hint.empty() ? "" : "  → " + verdict.hint + "\n");
    }
    add_evidence(text, "RAS", stacks.ras);
    add_evidence(text, "flight recorder", stacks.flight);
    for (const auto& group : groups) {
        add_group(text, group, threads);
    }
    return wrap_words(text, output.columns, 8);
}

} // namespace dockdist
