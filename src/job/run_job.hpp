// One job over some nodes, from its start to its last process.
#pragma once

#include "launch/launcher.hpp"
#include "observe/observe.hpp"
#include "report/event.hpp"
#include "wire/job.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

class Interrupts;

// Where the bytes of a job go as they come; node and rank say whose they are. Rank -1: the launcher itself.
class JobSink {
public:
    virtual ~JobSink() = default;
    virtual void output(const NodeName& node, int rank, StdStream stream, std::string_view bytes) = 0;
    virtual void flush() = 0;
};

struct JobOptions {
    JobId job{};
    std::string user{};
    std::string workdir{};
    std::chrono::milliseconds lease{30000}; // how long the job lives on without a client; 0: detached
    std::chrono::milliseconds grace{10000}; // between TERM and KILL
};

struct JobFailure {
    NodeName node{};
    wire::RankFailure failure{};
};

struct NodeOutcome {
    NodeName node{};
    std::optional<wire::JobResult> result{}; // empty: the node was lost
};

struct JobOutcome {
    int exit_code = 0;        // of the first failure, by the order of arrival; 0 when there is none
    bool interrupted = false; // ended by Ctrl-C
    std::optional<JobFailure> first_failure{};
    std::vector<NodeOutcome> nodes{};
    Errors errors{}; // what dockdist itself could not do: exit code 125
};

// Starts `launches` (one a node, in the order of `nodes`), passes their output to `sink`, ends the job
// everywhere at its first failure or at an interrupt (the second one: without grace), and returns when no
// process of it is left on any node that answers. A broken stream is taken up again where it broke.
Task<JobOutcome> run_job(const Engines& engines, std::vector<ReadyNode> nodes,
                         std::vector<NodeLaunch> launches, const JobOptions& options, Interrupts& interrupts,
                         JobSink& sink, Reporter& reporter);

} // namespace dockdist
