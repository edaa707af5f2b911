#include "client/job/gpu_text.hpp"
#include "golden.hpp"

#include <string>
#include <vector>

namespace gpu_text_test {

using namespace dockdist;
using State = wire::GpuTurn::State;

namespace {

wire::GpuUnit gpu(int index) {
    return {.id = "GPU-" + std::to_string(index), .index = index, .name = "NVIDIA H100"};
}

wire::GpuParty party(const char* job, const char* owner, std::int64_t age_s, const char* cluster = "llm") {
    return {.cluster = cluster, .node = "node-0", .job = job, .owner = owner, .age_s = age_s};
}

std::vector<wire::GpuHold> held(int first, int last, const wire::GpuParty& by) {
    std::vector<wire::GpuHold> holds;
    for (int i = first; i <= last; ++i) {
        holds.push_back({.unit = gpu(i), .by = by});
    }
    return holds;
}

NodeTurn waits(const std::string& node, int wanted, std::vector<wire::GpuHold> holds, int place = 1,
               std::vector<wire::GpuWaiter> ahead = {}) {
    return {.node = NodeName(node),
            .turn = {.state = State::waits,
                     .wanted = wanted,
                     .place = place,
                     .held = std::move(holds),
                     .ahead = std::move(ahead)}};
}

NodeTurn taken(const std::string& node, std::vector<int> indices, const char* together = "") {
    NodeTurn turn{.node = NodeName(node), .turn = {.state = State::taken, .together = together}};
    for (const int index : indices) {
        turn.turn.units.push_back(gpu(index));
    }
    return turn;
}

} // namespace

TEST_CASE("what a job waits for, and what it got") {
    std::string text;
    const auto waiting = [&](const std::string& title, const std::vector<NodeTurn>& nodes) {
        text += title + ":\n  waiting for " + wanted_text(nodes) + ": " + obstacles_text(nodes, "llm") + "\n";
    };
    const auto a = party("job-a", "user-a@desk", 720);
    const auto b = party("job-b", "user-b@login-1", 185);
    auto both = held(0, 0, a);
    both.push_back({.unit = gpu(1), .by = b});
    NodeTurn fits{.node = NodeName("node-1"), .turn = {.state = State::fits, .wanted = 1}};
    waiting("two jobs on one of two nodes", {waits("node-0", 1, both), fits});

    std::vector<NodeTurn> many;
    for (int i = 0; i < 64; ++i) {
        many.push_back(waits("node-" + std::to_string(i), 8, held(0, 7, a)));
    }
    waiting("one job on all of many nodes", many);
    many.clear();
    for (int i = 0; i < 7; ++i) {
        many.push_back(waits("node-" + std::to_string(i), 2,
                             held(0, 1, party(("job-" + std::to_string(i)).c_str(), "u@m", 30 + 3600 * i))));
    }
    waiting("another job on each of many nodes", many);

    auto ends = a;
    ends.left_s = 3601;
    waiting("one that has not long any more", {waits("node-0", 1, held(0, 0, ends))});

    auto mixed = held(0, 1, a);
    mixed.push_back({.unit = gpu(3), .by = a});
    mixed.push_back({.unit = gpu(4), .outside = true});
    mixed.push_back({.unit = gpu(5), .by = {.job = "python, pid 4711"}, .outside = true});
    mixed.push_back({.unit = gpu(6), .by = party("job-v", "user-v@desk", 4 * 24 * 3600, "vision")});
    mixed.push_back({.unit = gpu(7), .by = {.cluster = "llm", .node = "node-0", .age_s = 5}});
    waiting("all kinds of holders", {waits("node-0", 8, mixed)});

    const wire::GpuWaiter c{.who = party("job-c", "user-c@desk", 60), .wanted = 4};
    const wire::GpuWaiter d{.who = party("job-d", "user-d@desk", 50, "vision"), .wanted = 1};
    waiting("behind one", {waits("node-0", 1, held(0, 0, a), 2, {c})});
    waiting("behind many",
            {waits("node-0", 1, held(0, 0, a), 6, {c, d, c}), waits("node-1", 2, held(0, 1, a))});
    waiting("free, and kept for who is ahead", {waits("node-0", 1, {}, 2, {c})});

    std::vector<wire::GpuHold> slots;
    for (int i = 0; i < 4; ++i) {
        slots.push_back({.unit = {.id = "slot:llm/node-0/" + std::to_string(i), .index = i}, .by = a});
    }
    waiting("slots", {waits("node-0", 4, slots)});

    text += "not to wait:\n" + to_text(gpus_taken_error({waits("node-0", 1, both), fits}, "llm", "")) + "\n";
    text += "not for longer:\n" +
            to_text(gpus_taken_error({waits("node-0", 1, both), fits}, "llm", "within 2 h")) + "\n";

    const auto got = [&](const std::vector<NodeTurn>& nodes) { text += "got: " + taken_text(nodes) + "\n"; };
    got({taken("node-0", {1})});
    got({taken("node-0", {2, 3}, "NVLink"), taken("node-1", {0, 5}), taken("node-2", {2, 3}, "NVLink")});
    many.clear();
    for (int i = 0; i < 64; ++i) {
        many.push_back(taken("node-" + std::to_string(i), {0, 1, 2, 3, 4, 5, 6, 7}, "NVLink"));
    }
    got(many);
    check_golden("job/gpus.txt", text);
}

TEST_CASE("ages alone do not make another text") {
    const std::vector<NodeTurn> now{waits("node-0", 1, held(0, 0, party("job-a", "u@m", 60)))};
    const std::vector<NodeTurn> later{waits("node-0", 1, held(0, 0, party("job-a", "u@m", 6000)))};
    CHECK(obstacles_text(now, "llm", Ages::without) == obstacles_text(later, "llm", Ages::without));
    CHECK(obstacles_text(now, "llm") != obstacles_text(later, "llm"));
    CHECK(obstacles_text(now, "llm", Ages::without) == "node-0 GPU 0 job-a (u@m); place 1 in line");
}

TEST_CASE("nodes that tell one job's age a second apart are told together") {
    const std::vector<NodeTurn> nodes{waits("node-0", 1, held(0, 0, party("job-a", "u@m", 4))),
                                      waits("node-1", 1, held(0, 0, party("job-a", "u@m", 5))),
                                      waits("node-2", 1, held(0, 0, party("job-b", "u@m", 1)))};
    CHECK(obstacles_text(nodes, "llm") ==
          "node-0, node-1: GPU 0 job-a (u@m, 5 s); node-2 GPU 0 job-b (u@m, 1 s); place 1 in line");
}

TEST_CASE("what a neighbour has written on the board is short, and one line") {
    const auto by = party((std::string(100'000, 'x') + "\n").c_str(), "\x1b[2J", 5, "a\nb");
    const auto text = obstacles_text({waits("node-0", 1, held(0, 0, by))}, "llm");
    CHECK(text.size() < 200);
    CHECK(text.find_first_of("\n\x1b") == std::string::npos);
}

TEST_CASE("slots are not told as GPUs that a job has") {
    NodeTurn slots{.node = NodeName("node-0"), .turn = {.state = State::taken}};
    slots.turn.units.push_back({.id = "slot:llm/node-0/0"});
    CHECK(taken_text({slots}).empty());
}

TEST_CASE("ranks that would share one MIG instance are told so") {
    NodeTurn node{.node = NodeName("node-0"), .turn = {.state = State::taken}};
    node.turn.units = {{.id = "MIG-a", .index = 0}, {.id = "MIG-b", .index = 0}};
    CHECK_FALSE(shared_instance(node, 1).has_value());
    CHECK(to_text(shared_instance(node, 2).value()) ==
          "node-0: CUDA shows a process one MIG instance only, so its 2 ranks meet on the first of 2 MIG "
          "instances of GPU 0\n  with `--gpus 1` a node runs one rank on one instance");
    CHECK_FALSE(shared_instance(taken("node-0", {0, 1}), 2).has_value());
}

} // namespace gpu_text_test
