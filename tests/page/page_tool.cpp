// Prints the page of a made-up report, or of a made-up job, for the browser: page_tool
// deep|single|wide|job|job-wide.
#include "check/report/report_page.hpp"
#include "fakes/check_report.hpp"
#include "fakes/job_usage.hpp"
#include "job/page/job_page.hpp"

#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    using namespace dockdist;
    const std::string_view which = argc > 1 ? argv[1] : "";
    if (which == "job" || which == "job-wide") {
        const int nodes = which == "job" ? 2 : 64;
        const auto page = job_page(made_up_job(nodes), made_up_histories(nodes, nodes == 2 ? 240 : 40),
                                   {.cluster = "vision", .time = "2026-11-23 20:00 UTC", .version = "0.1.0"});
        return std::fputs(page.c_str(), stdout) < 0 ? 1 : 0;
    }
    CheckReport report;
    if (which == "deep") {
        report = deep_report();
    } else if (which == "single") {
        report = single_report();
    } else if (which == "wide") {
        report = wide_report(64);
    } else {
        std::fputs("usage: page_tool deep|single|wide|job|job-wide\n", stderr);
        return 2;
    }
    const auto page = report_page(
        report, {.cluster = "vision", .time = "2026-11-21 19:40 UTC", .version = "0.1.0", .deep = true});
    return std::fputs(page.c_str(), stdout) < 0 ? 1 : 0;
}
