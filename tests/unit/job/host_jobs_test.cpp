#include "client/job/host_jobs.hpp"
#include "golden.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace host_jobs_test {

using namespace dockdist;

namespace {

constexpr auto all_rows = std::numeric_limits<std::size_t>::max();

wire::GpuFacts held(const char* id, int index, const char* cluster, const char* job) {
    wire::GpuFacts facts{.unit = {.id = id, .index = index}};
    facts.hold = wire::GpuHold{.unit = facts.unit,
                               .by = {.cluster = cluster,
                                      .node = "node-0",
                                      .job = job,
                                      .owner = std::string(cluster) + "@desk",
                                      .age_s = 120}};
    return facts;
}

} // namespace

TEST_CASE("the jobs of all clusters, each with what it has on a host, and those that wait") {
    auto outside = held("GPU-3", 3, "", "3072 MiB in use");
    outside.hold->outside = true;
    const auto kept = held("GPU-4", 4, "speech", ""); // for a node that runs nothing
    const HostGpus first{
        .host = 0,
        .units = {held("GPU-0", 0, "llm", "job-a"),
                  held("GPU-1", 1, "speech", "job-b"),
                  held("GPU-2", 2, "llm", "job-a"),
                  outside,
                  kept,
                  {.unit = {.id = "GPU-5", .index = 5}}},
        .line = {{.who = {.cluster = "llm", .node = "node-0", .job = "job-c", .owner = "bo@desk", .age_s = 5},
                  .wanted = 2}}};
    const HostGpus second{.host = 1,
                          .units = {held("slot:llm/node-1/0", 0, "llm", "job-a")},
                          .problems = {"its GPUs are not known: no"}};
    const auto jobs = jobs_on_host(first);
    REQUIRE(jobs.size() == 3);
    CHECK(jobs[0].who.job == "job-a");
    CHECK(jobs[0].units.size() == 2);
    CHECK(jobs[1].who.owner == "speech@desk");
    CHECK(jobs[2].units.empty());
    CHECK(jobs[2].place == 1);
    check_golden("job/host_jobs.txt",
                 host_jobs_text({first, second}, {"box-0", "box-1"}, no_terminal, all_rows));
    CHECK(host_jobs_text({}, {}, no_terminal, all_rows) == "no job of any cluster has GPUs or slots there\n");
    CHECK(host_jobs_text({{.host = 0, .problems = {"nobody knows"}}}, {"box-0"}, no_terminal, all_rows) ==
          "box-0: nobody knows\n");
}

} // namespace host_jobs_test
