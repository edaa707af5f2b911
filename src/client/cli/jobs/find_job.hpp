// A job by its name, from any client: what the commands begin with that look at one.
#pragma once

#include "client/cli/context.hpp"
#include "client/cli/kept_stores.hpp"
#include "client/job/job_list.hpp"

#include <set>
#include <string>

namespace dockdist {

struct FoundJob {
    Attached cluster{};
    KnownJob job{};
    Errors errors{};      // of nodes that do not answer; the others are looked at
    bool found = false;   // else the errors say why
    bool unknown = false; // the nodes that answer, or the cluster that is not up, know no such job
};

// A lost node that the job goes on without is no trouble of the job's, nor is a host that has no other of its
// nodes.
void forget_lost(Errors& errors, const std::set<std::string>& lost, const FoundJob& found);

// Where the cluster is not up. `name` as below.
Error no_job_before_up(const ClusterSpec& spec, const std::string& name);

// `name` empty: the latest job. `node` not empty: its part on these nodes alone (client/spec/node_words.hpp),
// whatever the others say. What is wrong with hosts that it has no part on is a warning. `looks`: changes
// nothing there.
Task<FoundJob> find_job(Context& context, std::string name, std::string node = "", bool looks = true);
// The same, also in what nodes have kept that are not up (client/cli/kept_stores.hpp): into `found`, whose
// engines the caller's readers need to be closed.
Task<void> find_kept_job(Context& context, std::string name, std::string node, FoundJob& found,
                         StoreReaders& readers);

} // namespace dockdist
