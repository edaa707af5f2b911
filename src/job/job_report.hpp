// How a job stands or has ended, told from what its nodes say.
#pragma once

#include "job/job_list.hpp"
#include "job/run_job.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// As the cluster itself holds it; where no node does, the first in rank order. What a node did because it was
// told to end is no failure.
std::optional<JobFailure> first_failure(const std::vector<NodeOutcome>& nodes);

// Of a job that somebody else started.
JobOutcome outcome_of(std::vector<NodeOutcome> nodes, Errors errors);

// "rank 3 exited with 7", "the command was ended by signal 11 (Segmentation fault)".
std::string failure_text(const wire::RankFailure& failure);

// A table for people: what became of the job on each node, the nodes with the same result in one row, the
// failed ones first.
std::string results_text(const std::vector<NodeOutcome>& nodes, bool unicode);

enum class JobState { running, done, failed, stopped, lost };
std::string_view to_string(JobState state);

struct JobReport {
    JobId job{};
    JobState state = JobState::running;
    std::vector<NodeName> nodes{};
    std::int64_t started_ms = 0;  // since 1970, by the first node's clock
    std::int64_t duration_ms = 0; // 0: not known
    std::optional<int> exit_code{};
    std::string reason{}; // why it was stopped: "stop", "lease", "timeout"; else empty
    std::optional<JobFailure> first_failure{};
    std::vector<std::string> command{};
};
JobReport report_of(const KnownJob& job);

// A table for people. Times in this machine's time zone.
std::string jobs_text(const std::vector<JobReport>& jobs, bool unicode);

} // namespace dockdist
