#include "client/job/job_stacks.hpp"
#include "unit/job/asked_nodes.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace job_stacks_test {

using namespace dockdist;

namespace {

struct Nodes : AskedNodes {
    KnownJob job{.job = JobId("job-1")};

    explicit Nodes(std::size_t count) : AskedNodes(count) {
        for (const auto& node : nodes) {
            job.parts.push_back({.node = node, .summary = {.job = "job-1", .running = true}});
        }
    }
    JobStacks fetch() { return run_task(io, fetch_stacks(engines, job)); }
};

std::string told(const std::vector<int>& ranks) {
    std::string lines;
    for (const int rank : ranks) {
        lines += wire::rank_stack_line({.rank = rank, .pid = 5}) + "\n";
    }
    return lines + wire::stacks_told_line({}) + "\n";
}

} // namespace

TEST_CASE("the ranks of all nodes come by their numbers; a node that fails is an error with its name; one "
          "that is over is not asked") {
    Nodes nodes(4);
    nodes.fakes[0]->on_exec("dockdist-init job stacks job-1", told({2, 3}));
    nodes.fakes[1]->on_exec("dockdist-init job stacks job-1", told({0, 1}));
    nodes.fakes[2]->on_exec("dockdist-init job stacks job-1", "", 2, "usage: …\nno such command");
    nodes.job.parts[3].summary.running = false;
    const auto stacks = nodes.fetch();
    REQUIRE(stacks.ranks.size() == 4);
    for (int rank = 0; rank < 4; ++rank) {
        CHECK(stacks.ranks[static_cast<std::size_t>(rank)].stack.rank == rank);
    }
    CHECK(stacks.ranks[0].node.str() == "node-1");
    REQUIRE(stacks.errors.size() == 1);
    CHECK(stacks.errors[0].where.starts_with("node-2"));
    CHECK(stacks.errors[0].message == "it does not tell what its ranks are doing: no such command");
}

TEST_CASE(
    "where each node's command is the rank, it has that rank's number; where a launcher starts them, none") {
    for (const int ranks : {0, 1}) {
        Nodes nodes(2);
        for (std::size_t i = 0; i < 2; ++i) {
            nodes.job.parts[i].summary.policy.parts = {{.node = "node-1", .ranks = ranks},
                                                       {.node = "node-0"}};
            nodes.fakes[i]->on_exec("dockdist-init job stacks job-1", told({-1}));
        }
        const auto stacks = nodes.fetch();
        REQUIRE(stacks.ranks.size() == 2);
        CHECK(stacks.ranks[0].stack.rank == (ranks == 0 ? 0 : -1));
        CHECK(stacks.ranks[0].node.str() == (ranks == 0 ? "node-1" : "node-0"));
        CHECK(stacks.ranks[1].stack.rank == (ranks == 0 ? 1 : -1));
    }
}

TEST_CASE("a node that talks nonsense is an error, and nothing of it is taken") {
    Nodes nodes(1);
    nodes.fakes[0]->on_exec("dockdist-init job stacks job-1",
                            told({0}) + "{\"type\":\"stacks\",\"rank\":-7}\n");
    const auto stacks = nodes.fetch();
    CHECK(stacks.ranks.empty());
    REQUIRE(stacks.errors.size() == 1);
    CHECK(stacks.errors[0].kind == ErrorKind::protocol);
}

TEST_CASE("what RAS has told a node is judged with the processes of all nodes") {
    Nodes nodes(2);
    nodes.job.parts[0].node.record.address = "10.0.0.1";
    nodes.job.parts[1].node.record.address = "10.0.0.2";
    nodes.fakes[0]->on_exec("dockdist-init job stacks job-1",
                            wire::rank_stack_line({.rank = 0, .pid = 5}) + "\n" +
                                wire::stacks_told_line({.version = "2.30.7",
                                                        .asked_ms = 1000,
                                                        .ranks = {{.rank = 7,
                                                                   .size = 9,
                                                                   .host = "10.0.0.2",
                                                                   .pid = 5,
                                                                   .operation = "AllReduce",
                                                                   .count = 3,
                                                                   .most = 4}}}) +
                                "\n");
    nodes.fakes[1]->on_exec("dockdist-init job stacks job-1", told({1}));
    const auto stacks = nodes.fetch();
    CHECK(stacks.ras.ranks == std::vector{1});
    CHECK(stacks.ras.text.find(" has launched 3 AllReduce of 4; no count moved in 1.00 s") !=
          std::string::npos);
    CHECK(stacks.flight.text.empty());
}

} // namespace job_stacks_test
