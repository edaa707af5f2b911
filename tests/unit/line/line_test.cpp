#include "shared/line/line.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace line_test {

using namespace dockdist;
using Do = LineStep::Do;
using Nodes = std::vector<std::size_t>;

namespace {

// So many nodes, each on a host of its own with so many units.
LineView view_of(std::vector<std::size_t> units) {
    LineView view{.cluster = "c", .hosts = std::vector<LineHost>(units.size())};
    for (std::size_t node = 0; node < units.size(); ++node) {
        view.nodes.push_back({.name = "n" + std::to_string(node), .host = node});
        for (std::size_t i = 0; i < units[node]; ++i) {
            view.nodes[node].units.push_back("n" + std::to_string(node) + "g" + std::to_string(i));
        }
    }
    return view;
}

LineJob any(const std::string& name, std::size_t count, const LineView& view, int wanted = wire::all_units) {
    LineJob job{.name = name, .seats = {{.count = count}}, .wanted = wanted};
    for (std::size_t node = 0; node < view.nodes.size(); ++node) {
        job.seats.front().among.push_back(node);
    }
    return job;
}

BoardEntry entry_in(LineView& view, std::size_t node, const std::string& job, const std::string& cluster) {
    auto& board = view.hosts[view.nodes[node].host].board;
    return {.id = ++board.last_id, .who = {.cluster = cluster, .node = view.nodes[node].name, .job = job}};
}

void hold(LineView& view, std::size_t node, std::size_t units, const std::string& job,
          const std::string& cluster = "c") {
    auto entry = entry_in(view, node, job, cluster);
    for (std::size_t i = 0; i < units; ++i) {
        entry.units.push_back({.id = view.nodes[node].units[i]});
    }
    view.hosts[view.nodes[node].host].board.entries.push_back(entry);
}

void wait(LineView& view, std::size_t node, int wanted, std::int64_t number, const std::string& job,
          const std::string& cluster = "c") {
    auto entry = entry_in(view, node, job, cluster);
    entry.wanted = wanted;
    entry.candidates = view.nodes[node].units;
    entry.number = number;
    auto& board = view.hosts[view.nodes[node].host].board;
    board.last_number = std::max(board.last_number, number);
    board.entries.push_back(entry);
}

LineStep ask(const std::string& job, Nodes nodes) {
    return {.what = Do::ask, .job = job, .nodes = std::move(nodes)};
}
LineStep ticket(const std::string& job, std::size_t node, std::int64_t number) {
    return {.what = Do::ticket, .job = job, .nodes = {node}, .number = number};
}

} // namespace

TEST_CASE("jobs that fit are asked for at once, on nodes that are free, and never on the same units") {
    const auto view = view_of({8, 8, 8, 8});
    const auto got = decide({any("a", 2, view), any("b", 2, view)}, view);
    CHECK(got.steps == std::vector{ask("a", {0, 1}), ask("b", {2, 3})});
    CHECK(got.waits.empty());
}

TEST_CASE("a job waits where it will fit first, with tickets there alone, and nobody behind it takes that") {
    auto view = view_of({8, 8, 8});
    hold(view, 0, 8, "holder");
    LineJob holder{.name = "holder", .phase = LineJob::Phase::running, .seats = {{1, {0}}}, .at = {0}};
    const auto got = decide({holder, any("a", 3, view), any("b", 2, view)}, view);
    CHECK(got.steps == std::vector{ticket("a", 0, 0), ticket("a", 1, 0), ticket("a", 2, 0), ticket("b", 0, 0),
                                   ticket("b", 1, 0)});
    REQUIRE(got.waits.size() == 2);
    CHECK(got.waits[0].at == Nodes{0, 1, 2});
    REQUIRE(got.waits[0].holders.size() == 1);
    CHECK(got.waits[0].holders[0].job == "holder");
    CHECK(got.waits[0].ahead.empty());
    CHECK(got.waits[1].ahead == std::vector<std::string>{"a"});
    // What is left of it may have what a later one can use.
    const auto small = decide({holder, any("a", 3, view, 6), any("b", 1, view, 2)}, view);
    CHECK(std::ranges::find(small.steps, ask("b", {1})) != small.steps.end());
}

TEST_CASE("a job's number is the greatest that a board has given to one of its tickets, on all of them") {
    auto view = view_of({2, 2});
    hold(view, 0, 2, "x", "other");
    auto job = any("a", 2, view);
    CHECK(decide({job}, view).steps == std::vector{ticket("a", 0, 0), ticket("a", 1, 0)});
    wait(view, 0, 2, 3, "a");
    CHECK(decide({job}, view).steps == std::vector{ticket("a", 1, 0)});
    wait(view, 1, 2, 7, "a");
    CHECK(decide({job}, view).steps == std::vector{LineStep{.what = Do::number, .job = "a", .number = 7}});
    job.number = 7;
    CHECK(decide({job}, view).steps == std::vector{ticket("a", 0, 7)});
    view.hosts[0].board.entries.back().number = 7;
    CHECK(decide({job}, view).steps.empty());
}

TEST_CASE("it keeps its tickets while it waits, asks elsewhere where it fits before, and leaves then") {
    auto view = view_of({2, 2});
    hold(view, 0, 2, "x", "other");
    hold(view, 1, 2, "y", "other");
    wait(view, 0, 2, 1, "a");
    auto job = any("a", 1, view);
    job.number = 1;
    CHECK(decide({job}, view).steps.empty());
    std::erase_if(view.hosts[1].board.entries, [](const BoardEntry& entry) { return entry.who.job == "y"; });
    CHECK(decide({job}, view).steps == std::vector{ask("a", {1})});
    job.phase = LineJob::Phase::asking;
    job.at = {1};
    CHECK(decide({job}, view).steps.empty());
    job.phase = LineJob::Phase::running;
    hold(view, 1, 2, "a");
    CHECK(decide({job}, view).steps == std::vector{LineStep{.what = Do::leave, .job = "a", .nodes = {0}}});
}

TEST_CASE("who was refused gets tickets before it asks again") {
    auto view = view_of({2});
    auto job = any("a", 1, view);
    job.refusals = 1;
    CHECK(decide({job}, view).steps == std::vector{ticket("a", 0, 0)});
    wait(view, 0, 2, 1, "a");
    job.number = 1;
    CHECK(decide({job}, view).steps == std::vector{ask("a", {0})});
    wait(view, 0, 2, 0, "stranger", "other"); // before it, by its number
    const auto got = decide({job}, view);
    CHECK(got.steps.empty());
    REQUIRE(got.waits.size() == 1);
    REQUIRE(got.waits[0].strangers.size() == 1);
    CHECK(got.waits[0].strangers[0].cluster == "other");
}

TEST_CASE("by priority, then by number, then as they came") {
    auto view = view_of({2});
    auto first = any("first", 1, view);
    auto second = any("second", 1, view);
    CHECK(decide({first, second}, view).steps.front() == ask("first", {0}));
    second.number = 5;
    CHECK(decide({first, second}, view).steps.front() == ask("second", {0}));
    first.priority = 1;
    CHECK(decide({first, second}, view).steps.front() == ask("first", {0}));
}

TEST_CASE("a job of which too few nodes answer has tickets nowhere, and blocks nobody") {
    auto view = view_of({2, 2});
    view.nodes[1].there = false;
    wait(view, 0, 2, 1, "a");
    const auto got = decide({any("a", 2, view), any("b", 1, view)}, view);
    CHECK(got.steps == std::vector{ask("b", {0}), LineStep{.what = Do::leave, .job = "a", .nodes = {0}}});
    REQUIRE(got.waits.size() == 1);
    CHECK(got.waits[0].too_few);
}

TEST_CASE("tickets of jobs that are over go; a job without units needs no board") {
    auto view = view_of({2});
    wait(view, 0, 2, 1, "gone");
    CHECK(decide({}, view).steps == std::vector{LineStep{.what = Do::leave, .job = "gone", .nodes = {0}}});
    hold(view, 0, 2, "x", "other");
    CHECK(decide({any("b", 1, view, 0)}, view).steps.back() == ask("b", {0}));
}

TEST_CASE("a board gets so many tickets of a cluster, those of the first in line") {
    auto view = view_of({1});
    hold(view, 0, 1, "x", "other");
    std::vector<LineJob> jobs;
    for (std::size_t i = 0; i < most_tickets + 10; ++i) {
        jobs.push_back(any("job-" + std::to_string(i), 1, view));
    }
    const auto got = decide(jobs, view);
    CHECK(got.steps.size() == most_tickets);
    CHECK(got.waits.size() == jobs.size());
}

} // namespace line_test
