#include "shared/wire/frame.hpp"
#include "shared/wire/stacks.hpp"

#include <doctest/doctest.h>

#include <string>

namespace stacks_test {

using namespace dockdist;

namespace {

wire::RankStack some_stack() {
    return {.rank = 3,
            .pid = 12,
            .command = "python3 train.py",
            .state = wire::RankStack::State::in_kernel,
            .waits_in = "nfs_wait",
            .cpu_percent = 101,
            .thread_count = 9,
            .silent_ms = 90000,
            .moves = true,
            .tool = "py-spy",
            .threads = {{.name = "MainThread",
                         .id = 12,
                         .active = true,
                         .holds_gil = true,
                         .frames = {{"f", "a.py", 1}, {"g", "b.py", 0}}},
                        {.name = "loader", .id = 13}},
            .lines = {"#0 \xff"},
            .problem = "p",
            .advice = "a",
            .flight = {.version = "2.10",
                       .groups = {{.name = "0",
                                   .description = "default_pg",
                                   .ranks = {0, 1},
                                   .enqueued = 7,
                                   .completed = 6,
                                   .waits = true,
                                   .first = {.record = 9,
                                             .sequence = 7,
                                             .name = "nccl:all_reduce",
                                             .state = "scheduled",
                                             .sizes = "[[4]] Float",
                                             .elements = 4,
                                             .waits_ms = 60000,
                                             .frame = {"step", "train.py", 7}}}}}};
}

wire::RasReport some_report() {
    return {.version = "2.30.7",
            .asked_ms = 1000,
            .ranks = {{.kind = wire::RasRank::Kind::failed,
                       .communicator = "0xa:0xb",
                       .rank = 1,
                       .size = 2,
                       .host = "10.0.0.2",
                       .pid = 411,
                       .operation = "system error"}}};
}

} // namespace

TEST_CASE("what a rank is doing is read as it was written") {
    const auto read = wire::parse_stacks_word(wire::rank_stack_line(some_stack()));
    REQUIRE(read.has_value());
    CHECK_FALSE(read->over);
    CHECK(read->stack == some_stack());
    const auto told = wire::parse_stacks_word(wire::stacks_told_line(some_report()));
    REQUIRE(told.has_value());
    CHECK(told->over);
    CHECK(told->ras == some_report());
    CHECK(wire::parse_stacks_word(R"({"type":"stacks_told"})")->over); // of an older node
}

TEST_CASE("at the bounds it is taken, beyond them it is refused") {
    auto stack = some_stack();
    stack.rank = wire::max_rank;
    stack.command = std::string(wire::longest_stack_word, 'c');
    stack.threads.resize(wire::most_stack_threads);
    stack.threads[0].frames.resize(wire::most_stack_frames);
    stack.lines.resize(wire::most_stack_lines);
    CHECK(wire::parse_stacks_word(wire::rank_stack_line(stack))->stack == stack);
    const auto refused = [](auto change) {
        auto beyond = some_stack();
        change(beyond);
        return !wire::parse_stacks_word(wire::rank_stack_line(beyond)).has_value();
    };
    CHECK(refused([](auto& it) { it.flight.groups[0].ranks = {-1}; }));
    CHECK(refused([](auto& it) { it.flight.groups.resize(wire::most_flight_groups + 1); }));
    CHECK(refused([](auto& it) { it.rank = -2; }));
    CHECK(refused([](auto& it) { it.pid = -1; }));
    CHECK(refused([](auto& it) { it.cpu_percent = -1; }));
    CHECK(refused([](auto& it) { it.silent_ms = -1; }));
    CHECK(refused([](auto& it) { it.command = std::string(wire::longest_stack_word + 1, 'c'); }));
    CHECK(refused([](auto& it) { it.threads.resize(wire::most_stack_threads + 1); }));
    CHECK(refused([](auto& it) { it.threads[0].frames.resize(wire::most_stack_frames + 1); }));
    CHECK(refused([](auto& it) { it.threads[0].frames[0].line = -1; }));
    CHECK(refused([](auto& it) { it.lines.resize(wire::most_stack_lines + 1); }));
}

TEST_CASE("a word that is none says what is wrong with it") {
    CHECK(wire::parse_stacks_word("{\"type\":\"exited\"}").error().message.find("unknown type") !=
          std::string::npos);
    CHECK(wire::parse_stacks_word("{\"type\":\"stacks\"}").error().message.find("rank") != std::string::npos);
    CHECK(wire::parse_stacks_word("{\"type\":\"stacks\",\"rank\":0,\"state\":\"dead\"}")
              .error()
              .message.find("unknown state") != std::string::npos);
    CHECK_FALSE(wire::parse_stacks_word("[").has_value());
}

TEST_CASE("the main thread is that of the process's own number, or else the one that Python calls so") {
    const std::vector<wire::ThreadStack> threads{{.name = "a", .id = 7}, {.name = "MainThread", .id = 9}};
    CHECK(wire::main_thread(threads, 7) == &threads[0]);
    CHECK(wire::main_thread(threads, 8) == &threads[1]);
    CHECK(wire::main_thread({threads[0]}, 8) == nullptr);
}

} // namespace stacks_test
