// down: removes what bears the cluster's labels, and nothing else. Safe to run twice, and beside an `up` that
// died.
#pragma once

#include "client/job/job_list.hpp"
#include "client/observe/observe.hpp"
#include "client/plan/orphans.hpp"

namespace dockdist {

struct DownOptions {
    bool purge = false; // what its nodes have kept of jobs, and dockdist's volumes that nothing else uses
    bool break_lock = false; // although somebody is changing the cluster
    bool stop_jobs = false;  // ends the jobs that run on it, too
    bool some_hosts = false; // `hosts` are not all of the cluster's: nothing is said of others
    std::string origin{};    // labels::origin; nodes that another one made are not removed; empty: all are
    std::vector<std::string> toolkits{}; // versions whose volumes are dockdist's
};

struct DownResult {
    int removed = 0; // containers
    int purged = 0;  // volumes in which nodes kept what their jobs have left
    // What stays of that: as far as running nodes have told; and the volumes on other hosts.
    KeptJobs kept{};
    int stores = 0;
    Errors errors{};
    std::vector<Orphan> orphans{}; // on hosts that nobody asked
};

// Nothing is removed where jobs run on the cluster, or where a running node does not say whether they do: an
// error for each. Nodes that do not run are not asked, nor are those of a host that does not answer, which
// are not removed either.
Task<DownResult> down(const ClusterSpec& spec, const Engines& engines, const DownOptions& options,
                      Reporter& reporter);

// Removes the containers and the stores that one `up` has made, on every host that answers: what a failed one
// takes back. `only`: on these hosts; empty: on all.
Task<Errors> take_back(const ClusterSpec& spec, const Engines& engines, const std::string& attempt,
                       Reporter& reporter, std::vector<bool> only = {});

} // namespace dockdist
