// The jobs of a cluster whose nodes are fed (node_feeds.hpp), and who waits for GPUs, asked for anew when
// somebody wants to know.
#pragma once

#include "client/async/async_event.hpp"
#include "client/cli/looking/node_feeds.hpp"
#include "client/job/job_list.hpp"
#include "client/observe/ask_gpus.hpp"
#include "client/top/top_model.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace dockdist {

class ClusterJobs {
public:
    // The cluster and the feeds outlive it.
    ClusterJobs(const Context& context, const Connected& cluster, const NodeFeeds& feeds);

    // Until nothing is older than so much. Who comes while another asks waits for that answer. Whether there
    // was an answer to wait for.
    Task<bool> refresh(std::chrono::milliseconds age);

    const std::vector<KnownJob>& jobs() const { return jobs_; } // without those of `setup`
    const std::vector<HostGpus>& hosts() const { return hosts_; }
    // Those that run, then those that wait, of other clusters on these hosts too: NAME of CLUSTER.
    std::vector<TopJob> for_top() const;

private:
    Task<void> ask();

    const Connected& cluster_;
    const NodeFeeds& feeds_;
    AsyncEvent answered_;
    bool asking_ = false;
    std::optional<std::chrono::steady_clock::time_point> asked_{};
    std::vector<KnownJob> jobs_{};
    std::vector<HostGpus> hosts_{};
};

} // namespace dockdist
