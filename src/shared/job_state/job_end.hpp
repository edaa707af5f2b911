// How a job has ended: its outcome, the exit code of the process that tells it, and what it tells. Decided
// here for the client that runs a job, for the coordinator of a detached one, and for whoever looks on or
// comes later. Pure.
#pragma once

#include "shared/core/error.hpp"
#include "shared/core/names.hpp"
#include "shared/job_state/job_state_machine.hpp"
#include "shared/wire/job.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct NodeOutcome {
    NodeName node{};
    std::optional<wire::JobResult> result{}; // empty: the node was lost
    bool left_out = false;                   // the job has lost it, and gone on without it
    bool spare = false;                      // in the end it was held in reserve
};

struct JobOutcome {
    bool interrupted = false; // ended by Ctrl-C
    bool detached = false;    // it goes on without this client; the rest says nothing then
    bool collected = true;    // what was to be fetched after the job is here
    int attempts = 1;
    int code = 0; // the job's own: of the first failure; where there is none, of how its parts were ended
    std::string ready_at{};    // where its service has answered; as who carries the job knows it
    std::string stop_reason{}; // told to end by others, and nothing failed: "stop", "lease", "timeout"
    std::optional<wire::JobFailure> first_failure{};
    std::vector<NodeOutcome> nodes{};
    Errors errors{};                            // what dockdist itself could not do
    std::map<std::string, int> command_ranks{}; // wire::command_ranks(), as far as they are known

    // Of the process that tells it: 130 when interrupted, else the job's own, else 125 where dockdist itself
    // could not do something. Changes when errors are added.
    int exit_code() const;
    bool ended_well() const;
};

// The same happened: with the same code and cause, whatever the rank and the node.
bool alike(const wire::JobFailure& one, const wire::JobFailure& other);

// The nodes of which end_errors() says nothing: another failure, a lost one, one that was done.
std::vector<NodeOutcome> not_told_yet(const JobOutcome& outcome);

// As who looks on, or comes later, knows it: from what the nodes say. What a node did because it was told to
// end is no failure, and what the job goes on without is of no weight.
JobOutcome outcome_of(std::vector<NodeOutcome> nodes, Errors errors);
// As the client knows it that has decided for the job.
JobOutcome outcome_of(std::vector<NodeOutcome> nodes, Errors errors, const JobStateMachine& decided,
                      bool detached);

// The job's first failure as whoever has decided for it tells the parts, which keep it: also that of a
// launcher that ended well and has not started all ranks. For when no part runs any more.
std::optional<wire::JobFailure> final_failure(const JobStateMachine& decided);

// As programs are told of it: a command that is a rank bears its number. `ranks`: JobOutcome's.
void number_ranks(wire::JobResult& result, const std::string& node, const std::map<std::string, int>& ranks);
void number_rank(wire::JobFailure& failure, const std::string& node, const std::map<std::string, int>& ranks);

// The nodes that the job has lost, and gone on without.
std::set<std::string> left_out_of(const std::vector<NodeOutcome>& nodes);

enum class JobState { running, done, failed, stopped, lost };
std::string_view to_string(JobState state);
// Of a job that runs nowhere any more. Lost: a supervisor was killed.
JobState state_of(const JobOutcome& outcome);

// What people are told in the end: the failure, with those that are alike, and its last lines, or how the job
// was stopped; then what dockdist could not do. Nothing where it ended well.
Errors end_errors(const JobOutcome& outcome, const JobId& job);

} // namespace dockdist
