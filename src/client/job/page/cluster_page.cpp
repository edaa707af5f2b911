#include "client/job/page/cluster_page.hpp"

#include "client/report/page/page.hpp"
#include "shared/core/counted.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

namespace dockdist {
namespace {

std::string items(const std::vector<std::string>& sentences) {
    std::string text;
    for (const auto& sentence : sentences) {
        text += "<li>" + html(sentence) + "</li>\n";
    }
    return text.empty() ? "" : "<ul>\n" + text + "</ul>\n";
}

std::string verdict(const ClusterPage& page) {
    const auto running = std::ranges::count(page.jobs, JobState::running, &JobReport::state);
    return fmt::format("{}, {} running, {} waiting", counted(page.nodes.rows.size(), "node"),
                       counted(running, "job"), page.gpus.line.rows.size());
}

} // namespace

std::string cluster_page(const ClusterPage& page) {
    std::vector<JobReport> jobs;
    for (const bool running : {true, false}) {
        for (const auto& job : page.jobs | std::views::reverse) {
            if ((job.state == JobState::running) == running) {
                jobs.push_back(job);
            }
        }
    }
    std::vector<std::string> links;
    for (const auto& job : jobs) {
        links.push_back("job/" + job.job.str());
    }
    const auto line = page.gpus.line.empty() ? "" : "<h3>Waiting</h3>\n" + page_table(page.gpus.line);
    return whole_page(
        {.title = page.cluster,
         .verdict = verdict(page),
         .state = page.notes.empty() ? "" : "warn",
         .under = fmt::format("{} · dockdist {} · looks again every {} s", page.time, page.version,
                              page.refresh_s),
         .refresh_s = page.refresh_s},
        page_section("What stands out", items(page.notes)) + page_section("Nodes", page_table(page.nodes)) +
            page_section("GPUs", page_table(page.gpus.units) + items(page.gpus.problems) + line) +
            page_section("Jobs", page_table(jobs_table(jobs), links)));
}

} // namespace dockdist
