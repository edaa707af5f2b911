#include "job/find_job.hpp"

#include "async/run_all.hpp"
#include "core/text.hpp"
#include "engine/exec_command.hpp"
#include "wire/layout.hpp"

#include <fmt/format.h>

#include <set>

namespace dockdist {
namespace {

Task<Result<std::vector<wire::JobSummary>>> list_jobs(ContainerEngine& engine, ReadyNode node) {
    ExecConfig config;
    config.command = {layout::init, "job", "list"};
    config.user = "0:0";
    const auto answer = co_await run_command(engine, node.id, std::move(config));
    if (!answer) {
        auto error = answer.error();
        error.where = node.name.str();
        co_return error;
    }
    std::vector<wire::JobSummary> jobs;
    for (const auto& line : split(answer->out, '\n')) {
        if (auto job = wire::parse_job_summary(line)) {
            jobs.push_back(std::move(*job));
        }
    }
    co_return jobs;
}

} // namespace

Task<Result<FoundJob>> find_job(const Engines& engines, const std::vector<ReadyNode>& nodes, JobId job) {
    std::vector<Task<Result<std::vector<wire::JobSummary>>>> tasks;
    for (const auto& node : nodes) {
        tasks.push_back(list_jobs(*engines[node.host], node));
    }
    const auto lists = co_await run_all(std::move(tasks));
    FoundJob found{.job = job};
    std::set<std::string> names;
    std::int64_t latest = -1;
    for (const auto& list : lists) {
        if (!list) {
            co_return list.error();
        }
        for (const auto& summary : *list) {
            names.insert(summary.job);
            if (job.empty() && summary.started_ms > latest) {
                latest = summary.started_ms;
                found.job = JobId(summary.job);
            }
        }
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        for (const auto& summary : *lists[i]) {
            if (summary.job == found.job.str()) {
                found.nodes.push_back(nodes[i]);
                break;
            }
        }
    }
    if (found.nodes.empty()) {
        co_return Error{ErrorKind::not_found, "",
                        job.empty() ? "no job has run on these nodes"
                                    : "there is no job `" + printable(job.str()) + "`",
                        names.empty() ? "" : fmt::format("jobs: {}", fmt::join(names, ", "))};
    }
    co_return found;
}

} // namespace dockdist
