#include "client/cli/jobs/job_page.hpp"

#include "client/cli/report_file.hpp"
#include "client/job/job_histories.hpp"
#include "client/job/page/job_page.hpp"

#include <utility>

namespace dockdist {

Task<Status> write_job_page(Context& context, const Attached& cluster, KnownJob job, std::string path) {
    const auto histories = co_await fetch_histories(cluster.engines, nodes_of(job), job.job);
    context.warn(histories.errors);
    co_return report_file(path).write(
        job_page(report_of(job), histories.nodes,
                 {.cluster = cluster.spec.name.str(), .time = report_time(), .version = DOCKDIST_VERSION}));
}

Task<Status> write_page_of_ended(Context& context, const Attached& cluster, std::vector<ReadyNode> nodes,
                                 JobId job, std::string path) {
    const auto list = co_await list_jobs(cluster.engines, nodes);
    const auto* known = exact_job(list.jobs, job);
    if (known == nullptr) {
        co_return Error{ErrorKind::not_found, "", "there is no job `" + job.str() + "` any more", ""};
    }
    context.warn(list.errors);
    co_return co_await write_job_page(context, cluster, *known, std::move(path));
}

} // namespace dockdist
