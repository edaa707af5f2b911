#include "shared/wire/stacks.hpp"

#include "shared/wire/frame.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace dockdist::wire {
namespace {

using StackState = RankStack::State;

struct StateName {
    StackState state;
    std::string_view name;
};
constexpr std::array<StateName, 7> state_names{{{StackState::running, "running"},
                                                {StackState::sleeping, "sleeping"},
                                                {StackState::in_kernel, "in_kernel"},
                                                {StackState::stopped, "stopped"},
                                                {StackState::traced, "traced"},
                                                {StackState::ending, "ending"},
                                                {StackState::ended, "ended"}}};

constexpr std::int64_t most_number = std::numeric_limits<std::int64_t>::max();
constexpr int most_percent = 1'000'000;

void read_frames(ObjectReader& reader, std::vector<StackFrame>& frames) {
    read_objects(reader, "frames", [&](ObjectReader& nested) {
        if (frames.size() == most_stack_frames) {
            return nested.fail("too many frames");
        }
        read_frame(nested, frames.emplace_back());
    });
}

void read_child(ObjectReader& reader, ChildLook& child) {
    reader.read("pid", child.pid, 0, most_number);
    reader.read("state", child.state, longest_stack_word);
    reader.read("waits_in", child.waits_in, longest_stack_word);
    read_frames(reader, child.frames);
}

void read_thread(ObjectReader& reader, ThreadStack& thread) {
    reader.read("name", thread.name, longest_stack_word);
    reader.read("id", thread.id, 0, most_number);
    reader.read("active", thread.active);
    reader.read("holds_gil", thread.holds_gil);
    read_frames(reader, thread.frames);
}

void read_state(ObjectReader& reader, StackState& state) {
    std::string name(to_string(state));
    reader.read("state", name);
    const auto* const found = std::ranges::find(state_names, name, &StateName::name);
    if (found == state_names.end()) {
        return reader.fail("unknown state \"" + name + "\"");
    }
    state = found->state;
}

nlohmann::json frame_objects(const std::vector<StackFrame>& all) {
    auto frames = nlohmann::json::array();
    for (const auto& frame : all) {
        frames.push_back(frame_object(frame));
    }
    return frames;
}

nlohmann::json thread_object(const ThreadStack& thread) {
    return {{"name", thread.name},
            {"id", thread.id},
            {"active", thread.active},
            {"holds_gil", thread.holds_gil},
            {"frames", frame_objects(thread.frames)}};
}

} // namespace

std::string_view to_string(StackState state) {
    return std::ranges::find(state_names, state, &StateName::state)->name;
}

const ThreadStack* main_thread(const std::vector<ThreadStack>& threads, std::int64_t pid) {
    auto found = std::ranges::find(threads, pid, &ThreadStack::id);
    if (found == threads.end()) {
        found = std::ranges::find(threads, "MainThread", &ThreadStack::name);
    }
    return found == threads.end() ? nullptr : &*found;
}

void read_rank_stack(ObjectReader& reader, RankStack& stack) {
    reader.require("rank");
    reader.read("rank", stack.rank, -1, max_rank);
    reader.read("pid", stack.pid, 0, most_number);
    reader.read("command", stack.command, longest_stack_word);
    read_state(reader, stack.state);
    reader.read("waits_in", stack.waits_in, longest_stack_word);
    reader.read("cpu_percent", stack.cpu_percent, 0, most_percent);
    reader.read("tree_cpu_percent", stack.tree_cpu_percent, 0, most_percent);
    reader.read("io_bytes", stack.io_bytes, -1, most_number);
    reader.read("reads", stack.reads, longest_stack_word);
    read_objects(reader, "children", [&](ObjectReader& nested) {
        if (stack.children.size() == most_children) {
            return nested.fail("too many children");
        }
        read_child(nested, stack.children.emplace_back());
    });
    reader.read("thread_count", stack.thread_count, 0, most_number);
    reader.read("silent_ms", stack.silent_ms, 0, most_number);
    reader.read("moves", stack.moves);
    reader.read("rests_ms", stack.rests_ms, 0, most_number);
    reader.read("tool", stack.tool, longest_stack_word);
    read_objects(reader, "threads", [&](ObjectReader& nested) {
        if (stack.threads.size() == most_stack_threads) {
            return nested.fail("too many threads");
        }
        read_thread(nested, stack.threads.emplace_back());
    });
    reader.read_bytes("lines", stack.lines);
    reader.read("problem", stack.problem, longest_stack_word);
    reader.read("advice", stack.advice, longest_stack_word);
    read_object(reader, "flight", [&](ObjectReader& nested) { read_flight(nested, stack.flight); });
    if (!reader.failed() && stack.lines.size() > most_stack_lines) {
        reader.fail("too many lines");
    }
}

nlohmann::json rank_stack_object(const RankStack& stack) {
    nlohmann::json json{{"rank", stack.rank},
                        {"pid", stack.pid},
                        {"command", stack.command},
                        {"state", to_string(stack.state)},
                        {"waits_in", stack.waits_in},
                        {"cpu_percent", stack.cpu_percent},
                        {"tree_cpu_percent", stack.tree_cpu_percent},
                        {"io_bytes", stack.io_bytes},
                        {"reads", stack.reads},
                        {"children", nlohmann::json::array()},
                        {"thread_count", stack.thread_count},
                        {"silent_ms", stack.silent_ms},
                        {"moves", stack.moves},
                        {"rests_ms", stack.rests_ms},
                        {"tool", stack.tool},
                        {"threads", nlohmann::json::array()},
                        {"lines", bytes_array(stack.lines)},
                        {"problem", stack.problem},
                        {"advice", stack.advice}};
    for (const auto& child : stack.children) {
        json["children"].push_back({{"pid", child.pid},
                                    {"state", child.state},
                                    {"waits_in", child.waits_in},
                                    {"frames", frame_objects(child.frames)}});
    }
    if (stack.flight != FlightRecord()) {
        json["flight"] = flight_object(stack.flight);
    }
    for (const auto& thread : stack.threads) {
        json["threads"].push_back(thread_object(thread));
    }
    return json;
}

std::string rank_stack_line(const RankStack& stack) {
    auto json = rank_stack_object(stack);
    json["type"] = "stacks";
    return dump(json);
}

std::string stacks_told_line(const RasReport& ras) {
    return dump({{"type", "stacks_told"}, {"ras", ras_object(ras)}});
}

Result<StacksWord> parse_stacks_word(std::string_view line) {
    const auto object = parse_object(line, "what ranks are doing");
    TRY(object);
    StacksWord word;
    ObjectReader reader(*object, "what ranks are doing");
    std::string type;
    reader.require("type");
    reader.read("type", type);
    if (type == "stacks_told") {
        word.over = true;
        read_object(reader, "ras", [&](ObjectReader& nested) { read_ras(nested, word.ras); });
    } else if (type == "stacks") {
        read_rank_stack(reader, word.stack);
    } else {
        reader.fail("unknown type \"" + type + "\"");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return word;
}

} // namespace dockdist::wire
