// What the processes of ranks are doing, as a node tells it: a line of JSON for each rank.
//   `dockdist-init job stacks JOB` writes them to its stdout, {"type":"stacks",…}, and at their end
//   {"type":"stacks_told"}, with what NCCL's RAS says there; the supervisor of the part answers it with the
//   same lines.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/flight_record.hpp"
#include "shared/wire/ras_report.hpp"
#include "shared/wire/stack_frame.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

// Bounds of what is told: the first threads and the innermost frames count.
inline constexpr std::size_t most_stack_threads = 64;
inline constexpr std::size_t most_stack_frames = 100;
inline constexpr std::size_t most_stack_lines = 120;
inline constexpr std::size_t most_children = 8;
inline constexpr std::size_t most_told_ranks = 128; // of one node, in one event

struct ThreadStack {
    std::string name{};
    std::int64_t id = 0; // the kernel's
    bool active = false; // works, rather than waits
    bool holds_gil = false;
    std::vector<StackFrame> frames{}; // the innermost first
    bool operator==(const ThreadStack&) const = default;
};

// A process below a rank's, such as one of its data loader's.
struct ChildLook {
    std::int64_t pid = 0;
    std::string state{}; // as RankStack's
    std::string waits_in{};
    std::vector<StackFrame> frames{}; // of its main thread, where it is Python
    bool operator==(const ChildLook&) const = default;
};

struct RankStack {
    enum class State { running, sleeping, in_kernel, stopped, traced, ending, ended };

    int rank = -1; // -1: the command of a part that starts no ranks of its own
    std::int64_t pid = 0;
    std::string command{}; // cut
    State state = State::sleeping;
    std::string waits_in{};        // the kernel's function; empty: not told
    int cpu_percent = 0;           // of one processor, between the two looks at it
    int tree_cpu_percent = 0;      // with the processes below it
    std::int64_t io_bytes = 0;     // that they have read and written between the two; -1: not told
    std::string reads{};           // what its main thread waits for the bytes of; empty: nothing, or not told
    std::int64_t thread_count = 0; // as the kernel counts them
    std::int64_t silent_ms = 0;    // since it wrote its last
    bool moves = false;            // its main thread stood elsewhere at the first look
    std::int64_t rests_ms = 0; // between the two looks, where its main thread has not run at all meanwhile
    std::string tool{};        // which has read the stacks: py-spy, gdb; empty: none
    std::vector<ThreadStack> threads{};
    std::vector<ChildLook> children{}; // told where the rank waits for data
    std::vector<std::string> lines{};  // what a tool said that is not of Python
    std::string problem{}, advice{};   // why there are no stacks, and what helps
    FlightRecord flight{};
    bool operator==(const RankStack&) const = default;
};

std::string_view to_string(RankStack::State state); // as in JSON
// Null: none of them says that it is.
const ThreadStack* main_thread(const std::vector<ThreadStack>& threads, std::int64_t pid);

nlohmann::json rank_stack_object(const RankStack& stack);
void read_rank_stack(ObjectReader& reader, RankStack& stack);
// Without '\n'.
std::string rank_stack_line(const RankStack& stack);
std::string stacks_told_line(const RasReport& ras);

struct StacksWord {
    bool over = false; // nothing more comes
    RankStack stack{};
    RasReport ras{}; // with the last one
};
// Errors: protocol.
Result<StacksWord> parse_stacks_word(std::string_view line);

} // namespace dockdist::wire
