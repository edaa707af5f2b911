#include "node/job/rank_look.hpp"

#include <doctest/doctest.h>

#include <map>

namespace rank_look_test {

using namespace dockdist::node;

namespace {

using Words = std::map<pid_t, std::vector<std::string>>;

pid_t chosen(const std::vector<ProcessStat>& all, const Words& words) {
    return choose_process(all, 10,
                          [&](pid_t pid) {
                              const auto found = words.find(pid);
                              return LookTarget{.pid = pid,
                                                .argv = found == words.end() ? std::vector<std::string>()
                                                                             : found->second};
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

TEST_CASE("a Python that has given itself another name is known by its program") {
    const std::vector<ProcessStat> all{process(10, 1), process(11, 10)};
    const auto named = choose_process(all, 10, [](pid_t pid) {
        return pid == 10
                   ? LookTarget{.pid = pid, .argv = {"./launch"}}
                   : LookTarget{.pid = pid, .argv = {"ray::Train.step"}, .program = "/usr/bin/python3.11"};
    });
    CHECK(named.pid == 11);
    CHECK(named.is_python());
}

TEST_CASE("py-spy's threads are read, whatever it says before them") {
    const auto threads =
        parse_py_spy("a warning\n[\n  {\"thread_name\":\"MainThread\",\"os_thread_id\":12,\"active\":true,"
                     "\"owns_gil\":true,\"frames\":[{\"name\":\"f\",\"filename\":\"a.py\",\"line\":7},"
                     "{\"name\":\"g\",\"filename\":null,\"line\":-1}]},\n"
                     "{\"thread_name\":null,\"os_thread_id\":null,\"frames\":[]},7,{\"frames\":{}}]\n");
    REQUIRE(threads.size() == 2);
    CHECK(threads[0] == dockdist::wire::ThreadStack{.name = "MainThread",
                                                    .id = 12,
                                                    .active = true,
                                                    .holds_gil = true,
                                                    .frames = {{"f", "a.py", 7}, {"g", "", 0}}});
    CHECK(threads[1] == dockdist::wire::ThreadStack{});
}

TEST_CASE("what py-spy reads out of a rank is bounded, and moves no cursor") {
    std::string many = "[";
    for (std::size_t i = 0; i < dockdist::wire::most_stack_threads + 5; ++i) {
        many += std::string(i == 0 ? "" : ",") + "{\"thread_name\":\"\\u001b[2J" + std::string(2000, 'x') +
                "\",\"frames\":[";
        for (std::size_t j = 0; j < dockdist::wire::most_stack_frames + 5; ++j) {
            many += std::string(j == 0 ? "" : ",") + R"({"name":"f"})";
        }
        many += "]}";
    }
    const auto threads = parse_py_spy(many + "]");
    REQUIRE(threads.size() == dockdist::wire::most_stack_threads);
    CHECK(threads[0].name.starts_with("\\x1b[2J"));
    CHECK(threads[0].name.size() == dockdist::wire::longest_stack_word);
    CHECK(threads[0].frames.size() == dockdist::wire::most_stack_frames);
    for (const auto* wrong : {"", "no", "[", "[{]", "\n[1,2]", "]["}) {
        CHECK(parse_py_spy(wrong).empty());
    }
}

} // namespace rank_look_test
