// Which jobs the nodes know. A job is known to the nodes that it ran on, and to nobody else.
#pragma once

#include "client/observe/observe.hpp"
#include "client/report/event.hpp"
#include "shared/wire/job.hpp"

#include <set>
#include <string>
#include <vector>

namespace dockdist {

struct KnownPart {
    ReadyNode node{};
    wire::JobSummary summary{};
};

struct KnownJob {
    JobId job{};
    std::vector<KnownPart> parts{}; // where it ran, in rank order
};

std::vector<ReadyNode> nodes_of(const KnownJob& job); // where it ran, in rank order

struct JobList {
    std::vector<KnownJob> jobs{}; // the latest last
    Errors errors{};              // of the nodes that did not answer; not_found: no dockdist-init, or no node
};

// Of each node: those that run, the last 50 that have ended, and beside them:
struct JobsWanted {
    bool all = false;   // whatever the node has kept
    std::string name{}; // those of this name: NAME and its later runs
};
// Asks all nodes side by side. `reporter` is told whom it waits for.
Task<JobList> list_jobs(const Engines& engines, const std::vector<ReadyNode>& nodes,
                        Reporter* reporter = nullptr, JobsWanted wanted = {});

// What the nodes have kept of jobs: how many these are, those of several nodes once, and how much it is.
// Nodes that do not answer, or are of an older dockdist, have nothing to keep.
struct KeptJobs {
    std::size_t jobs = 0;
    Bytes size{};
};
Task<KeptJobs> ask_kept(const Engines& engines, const std::vector<ReadyNode>& nodes);

// A job's name can be used again once the job of that name has ended. The second one is NAME.run2, the third
// NAME.run3: what nodes keep, and what runs on nodes that are away, stays what it is.
struct NamedRun {
    std::string name{};
    int run = 1;
};
NamedRun named_run(const JobId& job);
// A command of `setup` in the file, which nodes run as they run jobs: nobody looks for it among these.
bool is_of_setup(const KnownJob& job);

// What the next job of this name is called. conflict: one runs. config: too long.
Result<JobId> next_run(const std::vector<KnownJob>& jobs, const std::string& name);

// The latest job of this name; NAME.run1 is the first, and so on. The latest of all when `job` is empty.
// not_found, with the names there are, when there is none.
Result<KnownJob> choose_job(const std::vector<KnownJob>& jobs, const JobId& job);
// The job with just this name.
const KnownJob* exact_job(const std::vector<KnownJob>& jobs, const JobId& job);

// Nodes that the job has lost and gone on without.
std::set<std::string> left_out_of(const KnownJob& job);

// Where the job's policy is told as it is now.
const wire::JobSummary& latest_of(const KnownJob& job);

// The job's parts in the order of its policy; null: it is lost. None at all where a node of the job does not
// answer: then nobody can decide for all.
std::vector<const KnownPart*> parts_of(const wire::JobPolicy& policy, const KnownJob& job);

} // namespace dockdist
