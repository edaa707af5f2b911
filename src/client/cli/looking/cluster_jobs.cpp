#include "client/cli/looking/cluster_jobs.hpp"

#include "client/job/host_jobs.hpp"
#include "client/job/job_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dockdist {

ClusterJobs::ClusterJobs(const Context& context, const Connected& cluster, const NodeFeeds& feeds)
    : cluster_(cluster), feeds_(feeds), answered_(context.executor) {}

Task<bool> ClusterJobs::refresh(std::chrono::milliseconds age) {
    if (asking_) {
        co_await answered_.wait_for_change();
        co_return true;
    }
    const auto now = std::chrono::steady_clock::now();
    if (asked_ && now - *asked_ <= age) {
        co_return false;
    }
    asking_ = true;
    co_await ask();
    asked_ = std::chrono::steady_clock::now();
    asking_ = false;
    answered_.notify();
    co_return true;
}

std::vector<TopJob> ClusterJobs::for_top() const {
    std::vector<TopJob> all;
    for (const auto& job : jobs_) {
        const auto report = report_of(job);
        if (report.state == JobState::running) {
            all.push_back({.name = job.job.str(), .owner = report.owner, .for_ms = report.duration_ms});
        }
    }
    const auto own = cluster_.spec.name.str();
    for (const auto& host : hosts_) {
        for (const auto& job : jobs_on_host(host)) {
            auto name = job.who.job + (job.who.cluster == own ? "" : " of " + job.who.cluster);
            if (job.units.empty() && std::ranges::find(all, name, &TopJob::name) == all.end()) {
                all.push_back({.name = std::move(name),
                               .owner = job.who.owner,
                               .for_ms = job.who.age_s * 1000,
                               .waits = fmt::format("{} on {}, place {}", job.wanted,
                                                    cluster_.spec.hosts[host.host].name.str(), job.place)});
            }
        }
    }
    return all;
}

Task<void> ClusterJobs::ask() {
    const auto nodes = feeds_.found();
    auto list = co_await list_jobs(cluster_.engines, nodes);
    std::erase_if(list.jobs, is_of_setup);
    jobs_ = std::move(list.jobs);
    const auto reports = co_await ask_gpus(cluster_.engines, nodes, gpu_in_use_mib(cluster_.spec));
    hosts_ = gpus_by_host(nodes, reports);
}

} // namespace dockdist
