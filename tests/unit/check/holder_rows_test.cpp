#include "client/check/holder_rows.hpp"
#include "facts_builder.hpp"

#include <doctest/doctest.h>

namespace holder_rows_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

namespace {

wire::GpuFacts held(int index, const std::string& job, const std::string& node = "node-0",
                    std::int64_t age_s = 7200, const std::string& cluster = "llm") {
    wire::GpuFacts facts{.unit = {.id = "GPU-" + std::to_string(index), .index = index}};
    facts.hold = wire::GpuHold{.unit = facts.unit,
                               .by = {.cluster = cluster, .node = node, .job = job, .age_s = age_s}};
    return facts;
}

// On one host with the nodes node-0 and node-1; node-0 knows train-1.
std::string rows(const std::vector<wire::GpuFacts>& units) {
    auto nodes = cluster_facts(2);
    nodes[0].facts.system->jobs = {"train-1"};
    const wire::GpuReport report{.units = units};
    std::string text;
    for (const auto& row : judge_holders("llm", {"node-0", "node-1"}, nodes, {report, report})) {
        text += (row.state == State::warn ? "warn " : "pass ") + row.subject + ": " + row.text + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("GPUs that are free, or held by jobs that run, are in order") {
    const auto* well = "pass node-0: GPUs are held by jobs that run, or free\n"
                       "pass node-1: GPUs are held by jobs that run, or free\n";
    auto outside = held(3, "pid 7");
    outside.hold->outside = true;
    CHECK(rows({held(0, "train-1"), {.unit = {.id = "GPU-1", .index = 1}}, outside}) == well);
    CHECK(rows({held(0, "gone", "node-0", 3)}) == well); // it has only just ended, or is about to begin
    CHECK(rows({held(0, "theirs", "node-0", 7200, "vision")}) == well); // not ours to know
    CHECK(rows({held(0, "ssh")}) == well);                              // a session is no job
    CHECK(rows({}).empty());
}

TEST_CASE("GPUs whose jobs are gone are told once, with what to do") {
    CHECK(rows({held(0, "gone"), held(1, "gone"), held(2, "train-1")}) ==
          "warn node-0: GPU 0, GPU 1 held for 2 h by gone, which the node does not know as running\n"
          "pass node-1: GPUs are held by jobs that run, or free\n");
    CHECK(rows({held(0, "lost", "node-7"), held(1, "")}) ==
          "warn node-0: GPU 0 held for 2 h by lost of node-7, which is not a node of the file\n"
          "warn node-0: GPU 1 held for 2 h by processes of a job that no node knows any more\n"
          "pass node-1: GPUs are held by jobs that run, or free\n");
    auto slot = held(0, "gone");
    slot.unit.id = "slot:llm/node-0/0";
    CHECK(rows({slot}) ==
          "warn node-0: slot 0 held for 2 h by gone, which the node does not know as running\n");
    const auto found =
        judge_holders("llm", {"node-0"}, {facts_of(0)}, {wire::GpuReport{.units = {held(0, "gone")}}});
    REQUIRE(found.size() == 1);
    CHECK(found[0].hint == "`dockdist stop gone` ends what is left of it there");
}

TEST_CASE("a node that does not say who has its GPUs is said") {
    const auto found = judge_holders("llm", {"node-0"}, {facts_of(0)},
                                     {Error{ErrorKind::timeout, "node-0", "no answer\x1b[2J", "look there"}});
    REQUIRE(found.size() == 1);
    CHECK(found[0].state == State::warn);
    CHECK(found[0].text == "no answer\\x1b[2J");
    CHECK(found[0].hint == "look there");
}

} // namespace holder_rows_test
