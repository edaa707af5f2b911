#include "client/job/job_histories.hpp"
#include "shared/wire/job_usage.hpp"
#include "unit/job/asked_nodes.hpp"

#include <doctest/doctest.h>

namespace job_histories_test {

using namespace dockdist;

namespace {

struct Nodes : AskedNodes {
    using AskedNodes::AskedNodes;
    JobHistories fetch() { return run_task(io, fetch_histories(engines, nodes, JobId("job-1"))); }
};

} // namespace

TEST_CASE(
    "each node's history is its own, one without is left out, and one that fails is an error with its name") {
    Nodes cluster(4);
    const wire::JobHistory second{.started_ms = 2, .step_ms = 500}, fourth{.started_ms = 4};
    cluster.fakes[0]->on_exec("dockdist-init job history", "");
    cluster.fakes[1]->on_exec("dockdist-init job history job-1 300", wire::job_history_line(second));
    cluster.fakes[2]->on_exec("dockdist-init job history", "", 2, "no such command");
    cluster.fakes[3]->on_exec("dockdist-init job history", wire::job_history_line(fourth));
    const auto told = cluster.fetch();
    REQUIRE(told.nodes.size() == 2);
    CHECK(told.nodes[0].node.str() == "node-1");
    CHECK(told.nodes[0].history == second);
    CHECK(told.nodes[1].node.str() == "node-3");
    CHECK(told.nodes[1].history == fourth);
    REQUIRE(told.errors.size() == 1);
    CHECK(told.errors[0].where.starts_with("node-2"));
    CHECK(told.errors[0].message == "it does not tell its history of the job: no such command");
}

TEST_CASE("of many nodes each is asked for fewer points, and of none nobody is asked") {
    CHECK(Nodes(0).fetch().nodes.empty());
    Nodes many(40);
    for (auto* fake : many.fakes) {
        fake->on_exec("dockdist-init job history job-1 100", wire::job_history_line({.started_ms = 1}));
    }
    CHECK(many.fetch().nodes.size() == 40);
}

} // namespace job_histories_test
