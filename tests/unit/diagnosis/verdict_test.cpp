#include "shared/diagnosis/verdict.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace verdict_test {

using namespace dockdist;
using State = wire::RankStack::State;
using Kind = HangVerdict::Kind;

namespace {

constexpr auto c10d = "/usr/lib/python3/dist-packages/torch/distributed/distributed_c10d.py";

wire::RankStack standing(int rank, std::vector<wire::StackFrame> frames) {
    return {.rank = rank,
            .pid = 10 + rank,
            .command = "python3 train.py",
            .thread_count = 1,
            .silent_ms = 60000,
            .tool = "py-spy",
            .threads = {{.name = "MainThread", .id = 10 + rank, .frames = std::move(frames)}}};
}

wire::RankStack in_all_reduce(int rank, int line = 12) {
    return standing(rank, {{"all_reduce", c10d, 2811}, {"step", "/workspace/train.py", line}});
}

HangVerdict of(const std::vector<wire::RankStack>& stacks) {
    std::vector<LocatedStack> located;
    for (const auto& stack : stacks) {
        located.push_back({"node-" + std::to_string(stack.rank / 2), &stack});
    }
    return judge(located);
}

// Three ranks that wait at one place, each process 10 + rank on node-0 or node-1, and what RAS says of them.
struct Heard {
    std::vector<wire::RankStack> stacks{in_all_reduce(0), in_all_reduce(1), in_all_reduce(2)};
    wire::RasReport ras{.version = "2.30.7", .asked_ms = 40000};
    std::int64_t stands_ms = 40000;

    std::map<std::string, std::vector<std::string>> gpu_faults{};

    HangVerdict judge_all() const {
        HangEvidence evidence{.ras = {ras},
                              .nodes = {{"10.0.0.1", "node-0"}, {"10.0.0.2", "node-1"}},
                              .gpu_faults = gpu_faults};
        for (const auto& stack : stacks) {
            evidence.ranks.push_back({"node-" + std::to_string(stack.rank / 2), &stack, stands_ms});
        }
        return judge(evidence);
    }
};

wire::RasRank ras_rank(wire::RasRank::Kind kind, int rank) {
    return {.kind = kind,
            .communicator = "0xa:0xb",
            .rank = 7, // its number there; its process says which it is
            .size = 8,
            .host = rank < 2 ? "10.0.0.1" : "10.0.0.2",
            .pid = 10 + rank,
            .operation = "AllReduce",
            .count = 3,
            .most = 4};
}

} // namespace

TEST_CASE("who waits for nobody keeps those waiting that wait for him") {
    const auto loads = standing(1, {{"_try_get_data", "/x/site-packages/torch/utils/data/dataloader.py", 1},
                                    {"main", "/workspace/train.py", 30}});
    const auto verdict = of({in_all_reduce(0), loads, in_all_reduce(2), in_all_reduce(3)});
    CHECK(verdict.kind == Kind::behind);
    CHECK(verdict.ranks == std::vector<std::size_t>{1});
    CHECK(verdict.text == "rank 1 on node-0: it waits for its next batch of data, in main (train.py:30); 3 "
                          "others wait for it in step (train.py:12)");
    CHECK(verdict.hint.find("--threads") != std::string::npos);
}

TEST_CASE("a state says why by itself, read or not") {
    for (const auto& [state, words] : {std::pair{State::stopped, "it was stopped (SIGSTOP)"},
                                       std::pair{State::traced, "a debugger holds it"},
                                       std::pair{State::in_kernel, "it waits in the kernel in nfs_wait"},
                                       std::pair{State::ending, "it is ending"}}) {
        wire::RankStack guilty{.rank = 1, .pid = 11, .state = state, .waits_in = "nfs_wait"};
        const auto verdict = of({in_all_reduce(0), guilty});
        CHECK(verdict.kind == Kind::behind);
        CHECK(verdict.text ==
              std::string("rank 1 on node-0: ") + words + "; another one waits for it in step (train.py:12)");
    }
    auto stopped_in_collective = in_all_reduce(1);
    stopped_in_collective.state = State::stopped;
    CHECK(of({in_all_reduce(0), stopped_in_collective})
              .text.starts_with("rank 1 on node-0: it was stopped (SIGSTOP), in step (train.py:12)"));
}

TEST_CASE("who works is slow or busy, not hung; who holds the GIL is said to") {
    auto busy = standing(0, {{"crunch", "/workspace/train.py", 3}});
    busy.cpu_percent = 100;
    CHECK(
        of({busy, in_all_reduce(1)}).text.starts_with("rank 0 on node-0: it works, in crunch (train.py:3)"));
    CHECK(of({busy, in_all_reduce(1)}).hint == "it is slower than the others, or has more to do");
    busy.threads[0].holds_gil = true;
    CHECK(of({busy, in_all_reduce(1)})
              .text.starts_with("rank 0 on node-0: it works, and holds Python's GIL, in crunch"));
    busy.moves = true;
    CHECK(of({busy, in_all_reduce(1)}).hint == "it is slower than the others, or has more to do");
    busy.moves = false;
    busy.cpu_percent = 4;
    CHECK(of({busy, in_all_reduce(1)})
              .text.starts_with("rank 0 on node-0: it holds Python's GIL and does nothing, in crunch"));
    busy.threads[0].holds_gil = false;
    CHECK(of({busy, in_all_reduce(1)})
              .text.starts_with("rank 0 on node-0: it is in code of its own, in crunch"));
}

TEST_CASE("a wait that spins is a wait; the backward pass waits where it does nothing") {
    auto spins = in_all_reduce(0);
    spins.state = State::running;
    spins.cpu_percent = 100;
    auto backward = standing(1, {{"_engine_run_backward", "/x/site-packages/torch/autograd/graph.py", 1},
                                 {"step", "/workspace/train.py", 12}});
    CHECK(of({spins, backward}).kind == Kind::same_collective);
    backward.cpu_percent = 20;
    CHECK(of({spins, backward}).kind == Kind::behind);
}

TEST_CASE(
    "all that wait at one place wait for GPUs or the network; at several, they call different collectives") {
    const auto same = of({in_all_reduce(0), in_all_reduce(1)});
    CHECK(same.kind == Kind::same_collective);
    CHECK(same.ranks.empty());
    CHECK(same.text == "all wait for each other in step (train.py:12)");
    CHECK(same.hint.find("dockdist check --deep") != std::string::npos);
    const auto comes = [](int rank) {
        return standing(rank, {{"init_process_group", c10d, 1}, {"main", "/workspace/train.py", 2}});
    };
    CHECK(of({comes(0), comes(1)}).hint.starts_with("a rank that was to come is missing"));

    const auto differ = of({in_all_reduce(0), in_all_reduce(1), in_all_reduce(2, 19), in_all_reduce(3)});
    CHECK(differ.kind == Kind::mismatch);
    CHECK(differ.ranks == std::vector<std::size_t>{2});
    CHECK(differ.text == "rank 2 on node-1 waits in step (train.py:19), others in step (train.py:12)");
    CHECK(of({in_all_reduce(0, 7), in_all_reduce(1), in_all_reduce(2), in_all_reduce(3, 7), in_all_reduce(4)})
              .text == "rank 0 on node-0 and 1 more wait in step (train.py:7), others in step (train.py:12)");
}

TEST_CASE("a cause is sure by a state, or where nobody works") {
    using Cause = HangCause;
    const auto own = standing(1, {{"crunch", "/workspace/train.py", 3}});
    const auto sure = [](const wire::RankStack& stack, Cause cause) {
        const auto verdict = of({in_all_reduce(0), stack});
        CHECK(verdict.cause == cause);
        return verdict.sure;
    };
    CHECK(sure(own, Cause::stands));
    auto works = own;
    works.tree_cpu_percent = 30; // a process below it compiles
    CHECK_FALSE(sure(works, Cause::busy));
    works = own;
    works.io_bytes = 1 << 20; // it writes
    CHECK_FALSE(sure(works, Cause::busy));
    works = own;
    works.moves = true;
    CHECK_FALSE(sure(works, Cause::busy));
    auto input = own;
    input.reads = "/dev/pts/0";
    CHECK(sure(input, Cause::input));
    auto locked = own;
    locked.waits_in = "futex_do_wait";
    CHECK(sure(locked, Cause::lock));
    auto ended = own;
    ended.state = State::ended;
    CHECK(sure(ended, Cause::ended));
    CHECK(sure(standing(1, {{"set_trace", "/usr/lib/python3.13/pdb.py", 1}}), Cause::debugger));
    // Another one works: who stands may wait for that; who is stopped does not.
    auto busy = own;
    busy.rank = 2;
    busy.cpu_percent = 100;
    CHECK_FALSE(of({in_all_reduce(0), own, busy}).sure);
    auto stopped = own;
    stopped.state = State::stopped;
    CHECK(of({in_all_reduce(0), stopped, busy}).sure);
    CHECK(of({in_all_reduce(0), stopped, busy}).ranks == std::vector<std::size_t>{1});
}

TEST_CASE("who computes in one call is a finding once that has gone on for half a minute") {
    auto spins = standing(1, {{"crunch", "/workspace/train.py", 3}});
    spins.cpu_percent = 99;
    const auto waits = in_all_reduce(0);
    const auto after = [&](std::int64_t stands_ms) {
        return judge({{"node-0", &waits, stands_ms}, {"node-0", &spins, stands_ms}});
    };
    CHECK_FALSE(after(29999).sure);
    CHECK(after(30000).sure);
    CHECK(after(30000).cause == HangCause::native_spin);
    spins.threads.front().holds_gil = true; // a loop of Python's, which may come to its end
    CHECK(after(30000).cause == HangCause::busy);
}

TEST_CASE("who does not come is told by what it does, and a loader by its process") {
    const auto comes = standing(0, {{"init_process_group", c10d, 1}, {"main", "/workspace/train.py", 2}});
    const auto late = standing(1, {{"warm_up", "/workspace/train.py", 3}});
    CHECK(of({comes, late}).cause == HangCause::never_joined);
    auto loads = standing(1, {{"_try_get_data", "/x/site-packages/torch/utils/data/dataloader.py", 1},
                              {"main", "/workspace/train.py", 30}});
    loads.children = {{.pid = 77, .state = "sleeping", .frames = {{"__getitem__", "/workspace/data.py", 5}}}};
    const auto verdict = of({in_all_reduce(0), loads});
    CHECK(verdict.cause == HangCause::data_loader);
    CHECK(verdict.text.find("its process 77 is sleeping in __getitem__ (data.py:5)") != std::string::npos);
}

TEST_CASE("a hang is told with its rank, its line, what others wait in, and whether a restart helps") {
    auto stopped = in_all_reduce(3);
    stopped.state = State::stopped;
    const auto waits = in_all_reduce(0);
    const HangEvidence evidence{{{"node-0", &waits}, {"node-1", &stopped}}};
    const auto hang = hang_of(judge(evidence), evidence, 2);
    CHECK(hang.attempt == 2);
    CHECK(hang.cause == "stopped");
    CHECK(hang.node == "node-1");
    CHECK(hang.rank == 3);
    CHECK(hang.where == "step (train.py:12)");
    CHECK(hang.awaits == "all_reduce, step (train.py:12)");
    CHECK(hang.restart_helps == "yes");
    CHECK(hang_lines(hang) ==
          std::vector<std::string>{
              "the job hangs: rank 3 on node-1: it was stopped (SIGSTOP), in step (train.py:12); another one "
              "waits for it in step (train.py:12)",
              "others wait in all_reduce, step (train.py:12)",
              "somebody or something has stopped it: `kill -CONT` lets it go on; a restart helps; `dockdist "
              "diagnose` tells more"});
}

TEST_CASE("without a positive reason there is no verdict") {
    const auto own = standing(0, {{"crunch", "/workspace/train.py", 3}});
    CHECK(of({}).kind == Kind::none);
    CHECK(of({in_all_reduce(0)}).kind == Kind::none);
    CHECK(of({own, standing(1, {{"crunch", "/workspace/train.py", 3}})}).kind == Kind::none);
    CHECK(of({in_all_reduce(0), {.rank = 1, .pid = 11}}).kind == Kind::none); // could not be read
    auto talks = in_all_reduce(1);
    talks.silent_ms = 9999;
    CHECK(of({in_all_reduce(0), talks}).kind == Kind::none);
    talks.silent_ms = 10000;
    CHECK(of({in_all_reduce(0), talks}).kind == Kind::same_collective);
    talks.moves = true;
    CHECK(of({in_all_reduce(0), talks}).kind == Kind::none);
}

TEST_CASE("a wait in which another thread writes is one where the main thread has not run") {
    std::vector ranks{in_all_reduce(0), in_all_reduce(1, 40), in_all_reduce(2, 40)};
    for (auto& rank : ranks) {
        rank.silent_ms = 1000;
    }
    CHECK(of(ranks).kind == Kind::none); // it may have gone round meanwhile
    for (auto& rank : ranks) {
        rank.rests_ms = 10000;
    }
    CHECK((of(ranks).kind == Kind::mismatch && of(ranks).sure));
}

TEST_CASE("who says how far it is, and waits for nobody, is at work") {
    std::vector ranks{standing(0, {{"evaluate", "/workspace/train.py", 3}}), in_all_reduce(1)};
    HangEvidence evidence{.ranks = {{"node-0", &ranks[0]}, {"node-0", &ranks[1]}}, .writes_ms = 30000};
    CHECK(judge(evidence).sure);
    ranks[0].silent_ms = 29000;
    CHECK((judge(evidence).kind == Kind::behind && !judge(evidence).sure));
    ranks[0].state = State::stopped; // another process of it wrote
    CHECK(judge(evidence).sure);
    ranks[0] = in_all_reduce(0, 40); // another thread of it does
    ranks[0].silent_ms = 1000;
    ranks[0].rests_ms = 10000;
    CHECK(judge(evidence).sure);
}

TEST_CASE("of many who are behind some are named") {
    std::vector<wire::RankStack> many;
    for (int rank = 0; rank < 6; ++rank) {
        many.push_back(standing(rank, {{"crunch", "/workspace/train.py", 3}}));
    }
    many.push_back(in_all_reduce(6));
    CHECK(of(many).text.starts_with(
        "rank 0 on node-0, rank 1 on node-0, rank 2 on node-1, rank 3 on node-1 and 2 more: it is in code"));
    CHECK(of(many).ranks.size() == 6);
}

TEST_CASE("where stacks name nobody the flight recorder does: who is behind, or calls on another size") {
    const auto flight = [](std::int64_t sequence, bool waits, std::int64_t elements) {
        return wire::FlightRecord{.version = "2.10",
                                  .groups = {{.name = "0",
                                              .description = "default_pg",
                                              .ranks = {0, 1, 2},
                                              .enqueued = sequence,
                                              .completed = waits ? sequence - 1 : sequence,
                                              .waits = waits,
                                              .first = {.record = sequence,
                                                        .sequence = sequence,
                                                        .name = "nccl:all_reduce",
                                                        .state = "scheduled",
                                                        .sizes = std::to_string(elements),
                                                        .elements = elements,
                                                        .waits_ms = 60000}}}};
    };
    std::vector ranks{in_all_reduce(0), in_all_reduce(1), in_all_reduce(2)};
    CHECK(of(ranks).kind == Kind::same_collective);
    ranks[0].flight = ranks[2].flight = flight(7, true, 4);
    ranks[1].flight = flight(7, true, 5);
    const auto differs = of(ranks);
    CHECK((differs.kind == Kind::mismatch && differs.sure));
    CHECK(differs.ranks == std::vector<std::size_t>{1});
    CHECK(restart_helps(differs.cause) == RestartHelps::no);
    CHECK(differs.where == "step (train.py:12)");
    ranks[1] = {.rank = 1, .state = State::sleeping, .problem = "it cannot be read"};
    ranks[1].flight = flight(6, false, 0);
    const auto behind = of(ranks);
    CHECK((behind.kind == Kind::behind && behind.ranks == std::vector<std::size_t>{1}));
    CHECK(behind.text.starts_with("rank 1 has not launched nccl:all_reduce #7 of default_pg"));
    ranks[1].cpu_percent = 90; // it comes
    CHECK_FALSE(of(ranks).sure);
}

TEST_CASE("where stacks name nobody RAS does: who has launched fewer, and no count moves") {
    Heard heard;
    CHECK(heard.judge_all().cause == HangCause::peers); // all counts are equal
    heard.ras.ranks = {ras_rank(wire::RasRank::Kind::behind, 2)};
    const auto behind = heard.judge_all();
    CHECK((behind.sure && behind.kind == Kind::behind));
    CHECK(behind.ranks == std::vector<std::size_t>{2});
    CHECK(behind.text == "rank 2 has launched 3 AllReduce of 4; no count moved in 40 s");
    CHECK(behind.where == "step (train.py:12)");
    CHECK(restart_helps(behind.cause) == RestartHelps::unknown);
    heard.ras.asked_ms = 10000; // it is looked at again
    heard.stands_ms = 20000;
    CHECK_FALSE(heard.judge_all().sure);
    CHECK(heard.judge_all().ranks == std::vector<std::size_t>{2});
    heard = {};
    heard.ras = {.version = "2.30.7", .asked_ms = 40000, .moves = true};
    CHECK(heard.judge_all().cause == HangCause::peers);
}

TEST_CASE("RAS names nobody for sure while anybody works, and who is ahead never") {
    Heard heard;
    heard.ras.ranks = {ras_rank(wire::RasRank::Kind::behind, 2)};
    heard.stacks[0] = standing(0, {{"crunch", "/workspace/train.py", 3}});
    heard.stacks[0].cpu_percent = 60; // rank 2 may wait for what it sends
    CHECK_FALSE(heard.judge_all().sure);
    heard = {};
    heard.ras.ranks = {ras_rank(wire::RasRank::Kind::ahead, 2)};
    CHECK(heard.judge_all().ranks.empty());
}

TEST_CASE("where all wait, a faulty GPU is at fault, and so its node; who works has no need of that") {
    Heard heard;
    heard.gpu_faults["node-0"] = {"GPU 3 is faulty: the driver asks for \"Reset\"", "GPU 4 has gone"};
    const auto verdict = heard.judge_all();
    CHECK((verdict.sure && verdict.cause == HangCause::gpu_fault));
    CHECK(verdict.ranks == std::vector<std::size_t>{0, 1});
    CHECK(verdict.text == "node-0: GPU 3 is faulty: the driver asks for \"Reset\", and 1 more");
    HangEvidence evidence;
    for (const auto& stack : heard.stacks) {
        evidence.ranks.push_back({"node-" + std::to_string(stack.rank / 2), &stack});
    }
    CHECK(hang_of(verdict, evidence, 0).node == "node-0");
    CHECK(hang_of(verdict, evidence, 0).rank == -1); // which of them uses it is not known
    heard.stands_ms = 20000;
    CHECK_FALSE(heard.judge_all().sure);
    heard.stands_ms = 40000;
    heard.stacks[2] = standing(2, {{"crunch", "/workspace/train.py", 3}});
    heard.stacks[2].cpu_percent = 60;
    CHECK(heard.judge_all().cause == HangCause::busy);
}

TEST_CASE("a rank that does not answer NCCL's RAS is named, and not what its peers have of it") {
    Heard heard;
    heard.ras.ranks = {ras_rank(wire::RasRank::Kind::unresponsive, 1),
                       ras_rank(wire::RasRank::Kind::failed, 0)};
    const auto verdict = heard.judge_all();
    CHECK(verdict.sure);
    CHECK(verdict.ranks == std::vector<std::size_t>{1});
    CHECK(verdict.text == "rank 1 does not answer");
    CHECK(verdict.hint == "its process is stopped or gone, or the network to it is cut");
}

} // namespace verdict_test
