#include "client/cluster/hand_over.hpp"
#include "client/plan/lost_files.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "fakes/run_task.hpp"
#include "shared/core/ustar.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/layout.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace hand_over_test {

using namespace dockdist;

namespace {

const std::string old_jobs(jobs_before_stores);

std::string tar_of(const std::string& name, const std::string& content) {
    const UstarEntry entry{.name = name, .mode = 0600, .size = static_cast<std::int64_t>(content.size())};
    return ustar_header(entry) + content + ustar_padding(entry) + ustar_end();
}

// An old node that kept its jobs itself, and the one in its place, which adopts what it is told.
struct TwoNodes {
    TwoNodes() {
        engine.add_container("old", {}, ContainerState::exited);
        engine.add_container("new");
        engine.on_exec("job adopt", [this](FakeExec exec) -> Task<int> {
            asked = co_await exec.read_all();
            exec.out(refused);
            exec.err(fails ? "the disk is full\n" : "");
            co_return fails ? 1 : 0;
        });
    }
    void add(const std::string& job, std::int64_t ended_ms, std::size_t output) {
        const wire::JobSummary summary{
            .job = job, .started_ms = ended_ms - 10, .duration_ms = 10, .argv = {"x"}};
        auto& old = engine.container("old");
        const auto folder = old_jobs + "/" + job;
        old.diff.paths.insert(old.diff.paths.end(), {folder, folder + "/summary.json", folder + "/log.0"});
        old.archives[folder + "/summary.json"] = tar_of("summary.json", wire::dump(nlohmann::json(summary)));
        old.archives[folder] = job + std::string(output, '.');
    }
    Result<Errors> hand_over(std::uint64_t limit = most_output) {
        const HandOver nodes{NodeName("node-0"), engine.container("old").id, engine.container("new").id};
        return run_task(io, hand_over_jobs(engine, nodes, reporter, limit));
    }

    boost::asio::io_context io;
    FakeEngine engine{io.get_executor()};
    NoReport reporter;
    std::string asked{}, refused{};
    bool fails = false;
};

} // namespace

TEST_CASE("records come first, then output, that of the job which ended last before others") {
    TwoNodes nodes;
    nodes.add("day", 1000, 10);
    nodes.add("night", 2000, 10);
    CHECK(nodes.hand_over().value().empty());
    const auto& uploads = nodes.engine.container("new").uploads;
    REQUIRE(uploads.size() == 3);
    CHECK(uploads[0].path == layout::store);
    for (const auto* name : {"incoming/day/summary.json", "incoming/night/summary.json"}) {
        CHECK(uploads[0].tar.find(name) != std::string::npos);
    }
    CHECK(uploads[1].path == layout::incoming_jobs);
    CHECK(uploads[1].tar == "night..........");
    CHECK(uploads[2].tar == "day..........");
    CHECK(nodes.asked == "whole night\nwhole day\n");
}

TEST_CASE("output beyond the bound stays behind, and is named") {
    TwoNodes nodes;
    nodes.add("a", 1000, 1);
    nodes.add("b", 2000, 3000);
    nodes.add("c", 3000, 100);
    const auto left = nodes.hand_over(200).value();
    CHECK(nodes.asked == "whole c\nrecord b\nrecord a\n");
    REQUIRE(left.size() == 1);
    CHECK(left[0].where == "node-0");
    CHECK(left[0].message ==
          "the output of 2 jobs of its old container did not come, their records did: b, a "
          "(at most 200 B are brought, the latest first)");
}

TEST_CASE("what the new node refuses is told in its words") {
    TwoNodes nodes;
    nodes.add("a", 1000, 1);
    nodes.refused = "a: there is a job of that name since then\n";
    const auto left = nodes.hand_over().value();
    REQUIRE(left.size() == 1);
    CHECK(left[0].message ==
          "what its old container kept of a job did not come: a: there is a job of that name since then");
}

TEST_CASE("where a record does not come the old container is to stay") {
    TwoNodes nodes;
    nodes.add("a", 1000, 1);
    nodes.fails = true;
    const auto why = nodes.hand_over().error();
    CHECK(why.message ==
          "the history of 1 job could not be brought out of its old container, which stays: the "
          "disk is full");
    nodes.fails = false;
    nodes.engine.fail("put_archive new", {ErrorKind::engine, "", "no space left on device", ""});
    CHECK(nodes.hand_over().has_error());
}

TEST_CASE("a container that has kept no jobs, or is gone, is asked for nothing else") {
    TwoNodes nodes;
    nodes.engine.container("old").diff.paths = {old_jobs, "/var/lib/dockdist/store/jobs/x/summary.json"};
    CHECK(nodes.hand_over().value().empty());
    const HandOver gone{NodeName("node-0"), ContainerId("gone"), nodes.engine.container("new").id};
    CHECK(run_task(nodes.io, hand_over_jobs(nodes.engine, gone, nodes.reporter)).value().empty());
    CHECK(nodes.engine.calls.size() == 2);
}

} // namespace hand_over_test
