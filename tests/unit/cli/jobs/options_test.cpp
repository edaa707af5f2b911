// What commands make of their options.
#include "client/cli/jobs/own_variables.hpp"
#include "client/cli/jobs/restart_options.hpp"
#include "client/cli/jobs/run_options.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace options_test {

using namespace dockdist;

namespace {

// "2 restarts, 3 nodes at least", or the refusal.
std::string restarts(const RestartOptions& options, int nodes, int spares = 0) {
    JobOptions job;
    if (const auto set = set_restarts(options, nodes, spares, job); !set) {
        return to_text(set.error());
    }
    return std::to_string(job.max_restarts) + " restarts, " + std::to_string(job.min_nodes) +
           " nodes at least";
}

} // namespace

TEST_CASE("--env gives a value, or passes on this process's own") {
    ::setenv("DOCKDIST_UNIT", "a b=c", 1);
    const auto env = own_variables({"A=1", "B=", "C=x=y", "DOCKDIST_UNIT", "A=2"});
    REQUIRE(env.has_value());
    CHECK(*env == std::map<std::string, std::string>{
                      {"A", "2"}, {"B", ""}, {"C", "x=y"}, {"DOCKDIST_UNIT", "a b=c"}});
    CHECK(own_variables({})->empty());
}

TEST_CASE("--env names what is missing, and nothing that a terminal would obey") {
    ::unsetenv("DOCKDIST_UNIT");
    CHECK(to_text(own_variables({"A=1", "DOCKDIST_UNIT"}).error()) ==
          "--env: `DOCKDIST_UNIT` is not set here\n  write DOCKDIST_UNIT=VALUE");
    CHECK(to_text(own_variables({"=1"}).error()) ==
          "--env: `=1` names no variable\n  write NAME=VALUE, or NAME to pass on yours");
    CHECK(own_variables({""}).error().kind == ErrorKind::usage);
    CHECK(own_variables({"\x1b[2J"}).error().message.find('\x1b') == std::string::npos);
}

TEST_CASE("a job restarts as often as it is told, and a lost node ends it") {
    CHECK(restarts({}, 4) == "0 restarts, 0 nodes at least");
    CHECK(restarts({.max_restarts = 3}, 4) == "3 restarts, 0 nodes at least");
}

TEST_CASE("with --min-nodes or spares there is a restart for each node that may be lost") {
    CHECK(restarts({.min_nodes = 2}, 4) == "2 restarts, 2 nodes at least");
    CHECK(restarts({.min_nodes = 4}, 4) == "0 restarts, 4 nodes at least");
    CHECK(restarts({}, 4, 1) == "1 restarts, 3 nodes at least");
    CHECK(restarts({.min_nodes = 2}, 4, 1) == "2 restarts, 2 nodes at least");
    CHECK(restarts({.max_restarts = 7, .min_nodes = 2}, 4) == "7 restarts, 2 nodes at least");
    CHECK(restarts({.max_restarts = 0}, 4, 1) == "0 restarts, 3 nodes at least");
}

TEST_CASE("--min-nodes that cannot be kept is refused") {
    CHECK(restarts({.min_nodes = 4}, 4, 1) ==
          "--min-nodes: 4 nodes are required at least, and the job starts on 3\n"
          "  choose more nodes, or ask for fewer");
    CHECK(restarts({.max_restarts = 0, .min_nodes = 2}, 4) ==
          "--min-nodes: a job that is never restarted cannot go on without a lost node\n"
          "  leave --max-restarts out, or give it 1 or more");
}

TEST_CASE("what a job asks for of GPUs, and how long it waits for them") {
    const auto job = [](const RunOptions& options) {
        return job_options(options, {.name = ClusterName("llm"), .gpu_in_use_above = Bytes{2ULL << 30U}})
            .value();
    };
    const auto all = job({});
    CHECK(all.gpus == wire::GpuAsk{.count = wire::all_units, .in_use_mib = 2048});
    CHECK_FALSE(all.wait.has_value());
    CHECK(all.cluster == "llm");
    CHECK(all.owner.find('@') != std::string::npos);
    CHECK(job({.gpus = 2, .priority = -5}).gpus ==
          wire::GpuAsk{.count = 2, .priority = -5, .in_use_mib = 2048});
    CHECK(job({.no_wait = true}).wait == std::chrono::milliseconds(0));
    CHECK(job({.wait = "2h"}).wait == std::chrono::hours(2));
    CHECK(job({.share = true}).gpus.share);
    CHECK(job({.dry_run = true}).gpus.share); // it takes nothing from anybody
    CHECK(job({.stall = "5m", .timeout = "90s"}).timeout == std::chrono::seconds(90));
}

TEST_CASE("the GPUs of a job that shares are not watched, and who asks for that hears so") {
    const ClusterSpec file{.name = ClusterName("llm"), .idle = {.after = std::chrono::minutes(30)}};
    CHECK(job_options({}, file)->idle == std::chrono::minutes(30));
    CHECK_FALSE(unwatched({}, file.idle, false).has_value());
    CHECK(job_options({.share = true}, file)->idle.count() == 0);
    CHECK(to_text(unwatched({}, file.idle, true).value()) ==
          "`idle` in the file does not apply to this job: with --share it has no GPUs of its own\n"
          "  --idle off says that this is intended");
    CHECK(job_options({.share = true, .idle = {.idle = "off"}}, file).has_value());
    CHECK_FALSE(unwatched({.idle = "off"}, file.idle, true).has_value());
    CHECK_FALSE(unwatched({}, {}, true).has_value());
    CHECK(to_text(job_options({.share = true, .idle = {.idle = "10m"}}, file).error()) ==
          "--idle: a job with --share has no GPUs of its own that could be watched\n"
          "  leave out --share or --idle");
    CHECK(to_text(job_options({.share = true, .idle = {.on_idle = "stop"}}, file).error()) ==
          "--on-idle: a job with --share has no GPUs of its own that could be watched\n"
          "  leave out --share or --on-idle");
}

} // namespace options_test
