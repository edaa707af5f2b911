#include "shared/diagnosis/verdict.hpp"

#include <doctest/doctest.h>

namespace network_test {

using namespace dockdist;

namespace {

// A rank a node, all in the same call; the nodes' addresses are 10.0.0.1 and so on.
struct Job {
    std::vector<wire::RankStack> stacks{};
    HangEvidence evidence{};

    explicit Job(int nodes) {
        for (int i = 0; i < nodes; ++i) {
            stacks.push_back(
                {.rank = i,
                 .pid = 10 + i,
                 .silent_ms = 60000,
                 .threads = {
                     {.name = "MainThread",
                      .id = 10 + i,
                      .frames = {{"all_reduce", "/usr/lib/python3/torch/distributed/distributed_c10d.py", 1},
                                 {"step", "/workspace/train.py", 7}}}}});
            evidence.nodes["10.0.0." + std::to_string(i + 1)] = name(i);
        }
    }
    static std::string name(int node) { return "node-" + std::to_string(node); }

    HangVerdict judge_all() {
        evidence.ranks.clear();
        for (const auto& stack : stacks) {
            evidence.ranks.push_back({name(stack.rank), &stack});
        }
        return judge(evidence);
    }
};

} // namespace

TEST_CASE("where all wait, and what a node sends is not answered, it is the network: at once, and of two "
          "nodes neither") {
    Job job(2);
    CHECK_FALSE(job.judge_all().sure); // they stand there for a moment only
    job.evidence.unanswered = {{"node-0", {"10.0.0.2", "192.0.2.7"}}, {"node-1", {"10.0.0.1"}}};
    const auto verdict = job.judge_all();
    CHECK(verdict.sure);
    CHECK(verdict.cause == HangCause::network);
    CHECK(verdict.ranks.empty());
    CHECK(verdict.text ==
          "over the network no answer comes to node-0 from node-1, to node-1 from node-0; all "
          "wait in all_reduce, step (train.py:7)");
    CHECK(hang_of(verdict, job.evidence, 0).node.empty());
}

TEST_CASE("of three nodes the one that is at an end of each broken way is cut off, if it is the only one") {
    Job job(3);
    job.evidence.unanswered = {{"node-0", {"10.0.0.3"}}, {"node-1", {"10.0.0.3"}}, {"node-2", {"10.0.0.1"}}};
    const auto verdict = job.judge_all();
    CHECK(verdict.ranks == std::vector<std::size_t>{2});
    CHECK(hang_of(verdict, job.evidence, 0).node == "node-2");
    job.evidence.unanswered = {{"node-0", {"10.0.0.3"}}};
    CHECK(job.judge_all().cause == HangCause::network);
    CHECK(job.judge_all().ranks.empty()); // either of the two
}

TEST_CASE("a machine outside the job that does not answer, and a node that works, are no reason") {
    Job job(2);
    job.evidence.unanswered = {{"node-0", {"192.0.2.7", "10.0.0.1"}}};
    CHECK(job.judge_all().cause != HangCause::network);
    job.evidence.unanswered = {{"node-0", {"10.0.0.2"}}};
    job.stacks[1].threads[0].frames = {{"crunch", "/workspace/train.py", 3}};
    job.stacks[1].cpu_percent = 90;
    CHECK(job.judge_all().cause == HangCause::busy);
}

} // namespace network_test
