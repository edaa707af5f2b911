// How a job stands or has ended, told from what its nodes say.
#pragma once

#include "client/job/job_list.hpp"
#include "client/report/cell_table.hpp"
#include "client/report/output.hpp"
#include "shared/job_state/job_end.hpp"
#include "shared/usage/job_usage.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

// A table for people: what became of the job on each node, the nodes with the same result in one row, the
// failed ones first.
std::string results_text(const std::vector<NodeOutcome>& nodes, const OutputTraits& output);

// A node's share of a job, by that node's clock.
struct PartTime {
    NodeName node{};
    int gpus = 0;                       // that the job had there to itself
    std::int64_t begin_ms = 0;          // since when they were its own
    std::int64_t end_ms = 0;            // so far, while it runs
    bool open_end = false;              // nobody saw its end: until it was last measured
    std::optional<std::size_t> usage{}; // its place in JobReport::usage; nothing: it tells of none
};

struct JobReport {
    JobId job{};
    JobState state = JobState::running;
    std::vector<NodeName> nodes{};
    std::int64_t started_ms = 0;  // since 1970, by the first node's clock
    std::int64_t duration_ms = 0; // 0: not known
    std::optional<int> exit_code{};
    std::string reason{}; // why it was stopped: "stop", "lease", "timeout"; else empty
    std::optional<wire::JobFailure> first_failure{};
    std::vector<std::string> command{};
    std::string owner{};              // USER@MACHINE
    std::string ready_at{};           // where its service has answered; empty: not yet, or none was asked for
    std::optional<wire::Hang> hang{}; // why it hangs, or has hung
    bool serves = false;              // one was asked for
    std::vector<std::pair<NodeName, std::vector<wire::GpuUnit>>> units{}; // that it has to itself there
    std::vector<NodeUsage> usage{}; // of the nodes that tell of it; while it runs that of some seconds ago
    std::vector<PartTime> times{};  // a node each
    std::optional<std::int64_t> waited_ms{}; // in line for its GPUs; nothing: not known
    std::vector<NodeOutcome> outcomes{};     // a node each; without a result while it runs there
};
JobReport report_of(const KnownJob& job);

// A table for people. Times in this machine's time zone.
CellTable jobs_table(const std::vector<JobReport>& jobs);
std::string jobs_text(const std::vector<JobReport>& jobs, const OutputTraits& output);

} // namespace dockdist
