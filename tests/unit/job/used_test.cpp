#include "client/job/page/used_page.hpp"
#include "client/job/used_text.hpp"
#include "golden.hpp"

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <ctime>

namespace used_test {

using namespace dockdist;
using wire::Figure;

namespace {

constexpr std::int64_t hour = 3'600'000;
constexpr std::int64_t day_0 = 1'772'236'800'000; // 2026-02-28, UTC

// A job of some nodes with `gpus` GPUs each, which were busy for `load` percent of the time, at `watt` each.
struct Made {
    const char* name = "a";
    const char* owner = "ada@desk";
    double begin_h = 0, hours = 1; // since day_0
    int nodes = 1, gpus = 2;
    std::optional<double> load = 80, watt = 500;
    std::optional<std::int64_t> waited_ms = 60'000;
    int code = 0;
};

KnownJob known(const Made& made) {
    KnownJob job{.job = JobId(made.name)};
    for (int i = 0; i < made.nodes; ++i) {
        auto& part = job.parts.emplace_back();
        part.node.name = NodeName("node-" + std::to_string(i));
        part.summary = {.job = made.name,
                        .started_ms = day_0 + static_cast<std::int64_t>(made.begin_h * hour),
                        .duration_ms = static_cast<std::int64_t>(made.hours * hour),
                        .argv = {"python", "train.py"},
                        .owner = made.owner,
                        .before = {.waited_ms = made.waited_ms}};
        for (int gpu = 0; gpu < made.gpus; ++gpu) {
            part.summary.units.push_back({.id = "GPU-" + std::to_string(gpu), .index = gpu});
        }
        auto& usage = part.summary.result.usage;
        usage = {.gpus = made.gpus, .duration_ms = part.summary.duration_ms};
        const auto seconds = made.hours * 3600 * made.gpus;
        if (made.load) {
            usage.figures.push_back(
                {.figure = Figure::gpu_utilization, .mean = *made.load, .peak = 100, .seconds = seconds});
        }
        if (made.watt) {
            usage.figures.push_back(
                {.figure = Figure::gpu_power, .mean = *made.watt, .peak = *made.watt, .seconds = seconds});
        }
        if (made.code != 0 && i == made.nodes - 1) {
            part.summary.result.code = made.code;
            part.summary.result.failures = {{.rank = 3, .code = made.code}};
        }
    }
    return job;
}

JobReport job(const Made& made) {
    return report_of(known(made));
}

Span days(double since, double until) {
    return {.since_ms = day_0 + static_cast<std::int64_t>(since * 24 * hour),
            .until_ms = day_0 + static_cast<std::int64_t>(until * 24 * hour)};
}

Used total_of(const std::vector<JobReport>& jobs, const Span& span = {}) {
    return used_by(UsedBy::user, jobs, span).total;
}

std::vector<JobReport> a_week() {
    auto running = known({.name = "night", .begin_h = 160, .hours = 8, .nodes = 2, .waited_ms = 0});
    for (auto& part : running.parts) {
        part.summary.running = true;
    }
    auto killed = known({.name = "gone", .owner = "bob@lab", .begin_h = 40, .load = {}, .watt = {}});
    killed.parts[0].summary.duration_ms = 0;
    killed.parts[0].summary.result.reason = "lost";
    auto older = known({.name = "old", .owner = "", .begin_h = 20, .gpus = 4, .waited_ms = {}});
    older.parts[0].summary.result.usage = {};
    auto cpu = known(
        {.name = "cpu", .owner = "=cmd|' /C calc'!A0", .begin_h = 50, .gpus = 0, .load = {}, .watt = {}});
    return {job({.name = "sweep", .begin_h = 1, .hours = 10, .waited_ms = 2 * hour}),
            report_of(older),
            job({.name = "sweep.run2", .begin_h = 30, .hours = 0.5, .load = 10, .code = 7}),
            report_of(killed),
            report_of(cpu),
            job({.name = "mig", .owner = "bob@lab", .begin_h = 60, .hours = 5, .gpus = 1, .load = {}}),
            report_of(running)};
}

} // namespace

TEST_CASE("GPU hours are GPUs times the time they were held, before the start too") {
    CHECK(total_of({job({.hours = 3, .nodes = 2})}).gpu_hours == doctest::Approx(12));
    auto held = known({.hours = 3});
    held.parts[0].summary.before.held_ms = hour / 2;
    CHECK(total_of({report_of(held)}).gpu_hours == doctest::Approx(7));
    auto slots = known({.gpus = 0});
    slots.parts[0].summary.units = {{.id = "slot:c/n/0"}};
    slots.parts[0].summary.result.usage = {};
    CHECK(total_of({report_of(slots)}).gpu_hours == 0);
    CHECK(total_of({report_of(slots)}).jobs == 1);
    auto short_one = known({.gpus = 4}); // too short to be measured
    short_one.parts[0].summary.result.usage = {};
    CHECK(total_of({report_of(short_one)}).gpu_hours == doctest::Approx(4));
}

TEST_CASE(
    "idle is the share of the GPU time without load, energy the power over it, each of what was measured") {
    const auto used =
        total_of({job({.hours = 1, .load = 80, .watt = 500}), job({.hours = 3, .load = 0, .watt = 100})});
    CHECK(*used.idle() == doctest::Approx((0.2 * 2 + 6) / 8));
    CHECK(*used.energy_kwh() == doctest::Approx(1.6));
    const auto unknown = total_of({job({.load = {}, .watt = {}, .waited_ms = {}})});
    CHECK_FALSE(unknown.idle().has_value());
    CHECK_FALSE(unknown.energy_kwh().has_value());
    CHECK_FALSE(unknown.waited().has_value());
    const auto both = total_of({job({.load = 50}), job({.load = {}})});
    CHECK(*both.idle() == doctest::Approx(0.5));
    CHECK(both.load_hours == doctest::Approx(both.gpu_hours / 2));
    CHECK(both.energy_hours == doctest::Approx(both.gpu_hours));
}

TEST_CASE("a node in reserve costs hours and power, and is not judged for its load") {
    auto report = job({.nodes = 2, .load = 0});
    report.usage[1].spare = true;
    const auto used = total_of({report});
    CHECK(used.gpu_hours == doctest::Approx(4));
    CHECK(used.load_hours == doctest::Approx(2));
    CHECK(used.energy_hours == doctest::Approx(4));
}

TEST_CASE("a job that reaches beyond the span counts with its share inside") {
    const std::vector<JobReport> jobs{job({.begin_h = 12, .hours = 48, .load = 75, .code = 7})};
    const auto middle = total_of(jobs, days(1, 2));
    CHECK(middle.gpu_hours == doctest::Approx(48));
    CHECK(*middle.energy_kwh() == doctest::Approx(24));
    CHECK(*middle.idle() == doctest::Approx(0.25));
    CHECK(middle.jobs == 1);
    CHECK(middle.failed == 0);                // later
    CHECK_FALSE(middle.waited().has_value()); // before
    CHECK(total_of(jobs, days(0, 1)).waited() == 60'000);
    CHECK(total_of(jobs, days(0, 1)).gpu_hours == doctest::Approx(24));
    CHECK(total_of(jobs, days(2, 3)).failed == 1);
    CHECK(total_of(jobs, days(3, 4)).jobs == 0);
    CHECK_FALSE(is_within(jobs[0], days(-1, 0.5)));
    CHECK(is_within(jobs[0], days(2.5, 3)));
    double sum = 0;
    for (int day = 0; day < 4; ++day) {
        sum += total_of(jobs, days(day, day + 1)).gpu_hours;
    }
    CHECK(sum == doctest::Approx(total_of(jobs).gpu_hours));
}

TEST_CASE("the runs of a name are one row, a user's machines two, and a node has what ran there") {
    const auto names =
        used_by(UsedBy::job, {job({.name = "sweep"}), job({.name = "sweep.run2"}), job({.name = "b"})}, {});
    REQUIRE(names.groups.size() == 2);
    CHECK(names.groups[0].name == "sweep");
    CHECK(names.groups[0].jobs == 2);
    const auto users =
        used_by(UsedBy::user, {job({.owner = "ada@desk"}), job({.owner = "ada@lab", .hours = 2})}, {});
    REQUIRE(users.groups.size() == 2);
    CHECK(users.groups[0].name == "ada@lab"); // most hours first
    const auto nodes =
        used_by(UsedBy::node, {job({.nodes = 2, .code = 7}), job({.name = "b", .hours = 5})}, {});
    REQUIRE(nodes.groups.size() == 2);
    CHECK(nodes.groups[0].name == "node-0");
    CHECK(nodes.groups[0].jobs == 2);
    CHECK(nodes.groups[0].failed == 0);
    CHECK(nodes.groups[1].failed == 1); // where the first failure was
    CHECK(nodes.total.jobs == 2);       // each once
    CHECK(nodes.total.gpu_hours == doctest::Approx(nodes.groups[0].gpu_hours + nodes.groups[1].gpu_hours));
}

TEST_CASE("a node can say what it likes, and costs nobody more than the time that it claims") {
    auto lies = known({.hours = 1});
    lies.parts[0].summary.result.usage.figures = {
        {.figure = Figure::gpu_utilization, .mean = -1e18, .peak = 1e18, .seconds = 1e18},
        {.figure = Figure::gpu_power, .mean = -1e18, .peak = 1e18, .seconds = 1e18}};
    const auto used = total_of({report_of(lies)});
    CHECK(used.load_hours == doctest::Approx(2));
    CHECK(*used.idle() == doctest::Approx(1));
    CHECK(*used.energy_kwh() == 0);
    auto early = known({});
    early.parts[0].summary.before.held_ms = 1'000'000'000'000;
    early.parts[0].summary.started_ms = 5;
    early.parts[0].summary.duration_ms = std::int64_t{1} << 42;
    early.parts[0].summary.owner = "\x1b[2J<script>\n=1";
    const std::vector<JobReport> jobs{report_of(early)};
    CHECK(total_of(jobs).gpu_hours > 0);
    CHECK(held_over_time(jobs, {}, 240, 8).curves.size() == 1);
    const auto page = used_page(jobs, {}, {});
    CHECK(page.find("<script") == std::string::npos);
    CHECK(page.find('\x1b') == std::string::npos);
    for (const auto& text : {used_csv(used_by(UsedBy::user, jobs, {})), jobs_csv(jobs),
                             used_text(used_by(UsedBy::user, jobs, {}), {}, no_terminal)}) {
        CHECK(text.find('\x1b') == std::string::npos);
        CHECK(text.find("\n=") == std::string::npos);
    }
}

TEST_CASE("GPUs held over the time, by user where there are few") {
    const std::vector<JobReport> jobs{job({.begin_h = 0, .hours = 2, .nodes = 2}),
                                      job({.name = "b", .owner = "bob@lab", .begin_h = 1, .hours = 3})};
    const auto held = held_over_time(jobs, {}, 4, 8);
    REQUIRE(held.curves.size() == 2);
    CHECK(held.begin_ms == day_0);
    CHECK(held.step_ms == hour);
    CHECK(held.curves[0].user == "ada@desk");
    CHECK(held.curves[0].gpus == std::vector<double>{4, 4, 0, 0});
    CHECK(held.curves[1].gpus == std::vector<double>{0, 2, 2, 2});
    const auto all = held_over_time(jobs, {}, 4, 1);
    REQUIRE(all.curves.size() == 1);
    CHECK(all.curves[0].user.empty());
    CHECK(all.curves[0].gpus == std::vector<double>{4, 6, 2, 2});
    CHECK(held_over_time({}, {}, 4, 8).curves.empty());
    CHECK(held_over_time(jobs, days(1, 2), 4, 8).curves.empty());
}

TEST_CASE("who used what, as people and programs read it") {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    const auto jobs = a_week();
    std::string text, csv, json;
    for (const auto by : {UsedBy::user, UsedBy::job, UsedBy::node}) {
        const auto span = by == UsedBy::node ? days(0, 6.9) : Span{};
        const auto table = used_by(by, jobs, span);
        text += used_text(table, span, no_terminal) + "\n";
        csv += used_csv(table) + "\n";
        json += used_json(table, span).dump(1) + "\n";
    }
    text += used_text(used_by(UsedBy::user, jobs, {}), {}, {.unicode = true, .columns = 40});
    check_golden("job/used.txt", text);
    check_golden("job/used.csv", csv + jobs_csv(jobs));
    check_golden("job/used.json", json);
}

TEST_CASE("the page of a span says who used what, over time, and asks for nothing from elsewhere") {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
    const auto page = used_page(a_week(), days(0, 7),
                                {.cluster = "vision", .time = "2026-03-07 20:00 UTC", .version = "0.2.0"});
    check_golden("job/used.html", page.substr(page.find("<body>")));
    for (const auto* part :
         {"<h1>Who used vision</h1>", "<h2>By user</h2>", "<h2>By node</h2>", "<h2>By job</h2>",
          "<h2>Jobs</h2>", "GPUs held, from 2026-02-28 01:00:00", "class=\"curve c1\""}) {
        CAPTURE(part);
        CHECK(page.find(part) != std::string::npos);
    }
    CHECK(page.find("http://") == std::string::npos);
    CHECK(page.find("nan") == std::string::npos);
    CHECK(used_page({}, {}, {.cluster = "vision"}).find("0 GPU hours in 0 jobs") != std::string::npos);
}

} // namespace used_test
