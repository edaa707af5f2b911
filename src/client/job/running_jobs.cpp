#include "client/job/running_jobs.hpp"

#include "client/async/run_all.hpp"
#include "client/job/follow_job.hpp"

#include <algorithm>
#include <iterator>

namespace dockdist {

ReadyNode door_of(std::size_t host, const ObservedNode& node) {
    return {node.node, node.id, host, node.record.value_or(wire::NodeRecord{})};
}

Task<JobsThere> find_running_jobs(const Engines& engines, const std::vector<ReadyNode>& nodes) {
    auto list = co_await list_jobs(engines, nodes);
    JobsThere there;
    std::ranges::copy_if(list.errors, std::back_inserter(there.silent),
                         [](const Error& error) { return error.kind != ErrorKind::not_found; });
    for (auto& known : list.jobs) {
        RunningJob job{.job = known.job};
        for (auto& part : known.parts) {
            if (part.summary.running) {
                job.owner = job.owner.empty() ? part.summary.owner : job.owner;
                job.age_ms = std::max(job.age_ms, part.summary.duration_ms);
                job.parts.push_back(
                    {part.node.host, part.node.name, part.node.id, std::move(part.summary.units)});
            }
        }
        if (!job.parts.empty()) {
            there.jobs.push_back(std::move(job));
        }
    }
    co_return there;
}

Task<void> stop_running_jobs(const Engines& engines, const std::vector<RunningJob>& jobs) {
    std::vector<Task<std::vector<Result<wire::JobResult>>>> stops;
    std::vector<std::vector<ReadyNode>> nodes; // which the tasks refer to
    for (const auto& job : jobs) {
        auto& doors = nodes.emplace_back();
        for (const auto& part : job.parts) {
            doors.push_back({part.node, part.id, part.host, {}});
        }
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        stops.push_back(stop_job(engines, nodes[i], jobs[i].job, wire::default_grace));
    }
    co_await run_all(std::move(stops));
}

Task<Errors> make_way(const Engines& engines, JobsThere there, bool stop_jobs, std::string what,
                      Reporter& reporter) {
    Errors errors;
    if (stop_jobs) {
        for (const auto& silence : there.silent) {
            reporter.on(warning_event(goes_on_unasked(silence)));
        }
        co_await stop_running_jobs(engines, there.jobs);
        co_return errors;
    }
    for (const auto& job : there.jobs) {
        errors.push_back(would_end(job, what));
    }
    for (const auto& silence : there.silent) {
        errors.push_back(may_end_jobs(silence));
    }
    co_return errors;
}

} // namespace dockdist
