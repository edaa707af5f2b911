#include "node/job/stack_dump.hpp"

#include <doctest/doctest.h>

#include <map>

namespace stack_dump_test {

using namespace dockdist::node;

namespace {

using Words = std::map<pid_t, std::vector<std::string>>;

pid_t chosen(const std::vector<ProcessStat>& all, const Words& words) {
    return choose_process(all, 10,
                          [&](pid_t pid) {
                              const auto found = words.find(pid);
                              return found == words.end() ? std::vector<std::string>() : found->second;
                          })
        .pid;
}

ProcessStat process(pid_t pid, pid_t parent, char state = 'S') {
    return {.pid = pid, .parent = parent, .state = state};
}

} // namespace

TEST_CASE("the fields of a process are counted from behind its name") {
    const auto stat =
        parse_process_stat("42 (a ) R 1 (x) S 7 8 9 10 11 12 13 14 15 16 100 23 1 2 20 0 5 0 99 1 2");
    REQUIRE(stat.has_value());
    CHECK(stat->pid == 42);
    CHECK(stat->parent == 7);
    CHECK(stat->session == 9);
    CHECK(stat->state == 'S');
    CHECK(stat->cpu_ticks == 123);
    CHECK(stat->waited_ticks == 3);
    CHECK(stat->threads == 5);
    CHECK_FALSE(parse_process_stat("").has_value());
    CHECK_FALSE(parse_process_stat("42 (a) S 7 8").has_value());
    CHECK(read_process_stat(1)->pid == 1);
}

TEST_CASE("of a rank's processes the topmost Python is looked at") {
    const std::vector<ProcessStat> all{process(10, 1), process(11, 10), process(12, 11), process(13, 12)};
    const Words words{{10, {"/opt/dockdist/bin/dockdist-init", "rank"}},
                      {11, {"bash", "train.sh"}},
                      {12, {"/usr/bin/python3.11", "train.py"}},
                      {13, {"python", "a worker of its loader"}}};
    CHECK(chosen(all, words) == 12);
}

TEST_CASE("where there is no Python, the topmost program that is no shell") {
    const std::vector<ProcessStat> all{process(10, 1), process(11, 10), process(12, 11), process(20, 1)};
    CHECK(chosen(all, {{10, {"dockdist-init"}}, {11, {"sh"}}, {12, {"./train"}}, {20, {"python3"}}}) == 12);
    CHECK(chosen(all, {{10, {"./train"}}, {11, {"./helper"}}}) == 10);
    CHECK(chosen(all, {{10, {"sh"}}}) == 10); // all that is there
    CHECK(chosen({process(10, 1), process(11, 10, 'Z')}, {{10, {"sh"}}, {11, {"python3"}}}) == 10);
}

} // namespace stack_dump_test
