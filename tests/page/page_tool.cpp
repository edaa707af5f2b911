// Prints the page of a made-up report, job or cluster, for the browser: page_tool
// deep|single|wide|job|job-wide|cluster.
#include "client/check/report/report_page.hpp"
#include "client/job/page/cluster_page.hpp"
#include "client/job/page/job_page.hpp"
#include "fakes/check_report.hpp"
#include "fakes/job_usage.hpp"

#include <cstdio>
#include <string_view>

namespace {

using namespace dockdist;

ClusterPage made_up_cluster() {
    ClusterPage page{.cluster = "vision",
                     .time = "2026-11-23 20:00 UTC",
                     .version = "0.1.0",
                     .refresh_s = 5,
                     .notes = {"node-9: its host does not answer <script>alert(1)</script>"}};
    page.nodes.columns = {{.title = "NODE"}, {.title = "GPU", .align = Align::right}};
    std::vector<std::string> names;
    std::vector<HostGpus> hosts;
    for (std::size_t i = 0; i < 8; ++i) {
        names.push_back("node-" + std::to_string(i));
        page.nodes.rows.push_back({names.back(), "87 %"});
        HostGpus host{.host = i};
        for (int gpu = 0; gpu < 2; ++gpu) {
            host.units.push_back(
                {.unit = {.id = "GPU-" + std::to_string(gpu), .index = gpu, .name = "NVIDIA H100 80GB HBM3"},
                 .utilization_percent = 87});
        }
        hosts.push_back(std::move(host));
    }
    hosts[0].line = {
        {.who = {.cluster = "audio", .job = "waits", .owner = "bob@there", .age_s = 60}, .wanted = 2}};
    page.gpus = gpu_tables(hosts, names);
    page.jobs = {made_up_job(2), made_up_job(2)};
    page.jobs[1].job = JobId("night");
    page.jobs[1].state = JobState::running;
    page.jobs[1].exit_code.reset();
    page.jobs[1].first_failure.reset();
    return page;
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "job" || which == "job-wide") {
        const int nodes = which == "job" ? 2 : 64;
        const auto page = job_page(made_up_job(nodes), made_up_histories(nodes, nodes == 2 ? 240 : 40),
                                   {.cluster = "vision", .time = "2026-11-23 20:00 UTC", .version = "0.1.0"});
        return std::fputs(page.c_str(), stdout) < 0 ? 1 : 0;
    }
    if (which == "cluster") {
        return std::fputs(cluster_page(made_up_cluster()).c_str(), stdout) < 0 ? 1 : 0;
    }
    CheckReport report;
    if (which == "deep") {
        report = deep_report();
    } else if (which == "single") {
        report = single_report();
    } else if (which == "wide") {
        report = wide_report(64);
    } else {
        std::fputs("usage: page_tool deep|single|wide|job|job-wide|cluster\n", stderr);
        return 2;
    }
    const auto page = report_page(
        report, {.cluster = "vision", .time = "2026-11-21 19:40 UTC", .version = "0.1.0", .deep = true});
    return std::fputs(page.c_str(), stdout) < 0 ? 1 : 0;
}
