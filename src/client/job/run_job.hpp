// One job over some nodes, from its start to its last process.
#pragma once

#include "client/job/job_list.hpp"
#include "client/job/node_job.hpp"
#include "client/job/select_nodes.hpp"
#include "client/observe/observe.hpp"
#include "client/report/event.hpp"
#include "shared/core/lease_clock.hpp"
#include "shared/job_state/job_end.hpp"
#include "shared/launch/launcher.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/job_query.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
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
    // What launchers say when the job is being ended: it follows from that, and people need not see it.
    virtual void aside(const NodeName& node, StdStream stream, std::string_view bytes) {
        output(node, -1, stream, bytes);
    }
    virtual void flush() = 0;
    // Waited for between one batch of a node's output and the next: a sink that is full lets the node wait.
    virtual Task<void> room() { co_return; }
};

struct JobOptions {
    JobId job{};
    std::map<std::string, std::string> env{}; // for every process, over what the launcher sets
    std::map<std::string, std::string> secrets{};
    std::vector<std::string> unset{}; // names that no process of the job has, whatever sets them
    std::string user{};
    std::string workdir{};
    std::chrono::milliseconds lease = wire::default_lease; // how long the job lives on without who carries it
    std::chrono::milliseconds grace = wire::default_grace; // between the signal and KILL
    int signal = SIGTERM;                                  // shared/core/ending_signals.hpp
    int max_restarts = 0;
    // Above 0: the job goes on without a lost node while so many are left, see shared/launch/relaunch.hpp;
    // the parts that have no launch are spare.
    int min_nodes = 0;
    std::string relaunch{};
    // Called with the node that has become the job's first, when the one before it is lost.
    std::function<void(const NodeName&)> on_first_node{};
    // By host, for GpuAsk::taken, see client/job/old_nodes.hpp; and how to ask again while the job waits for
    // these.
    std::vector<std::vector<wire::GpuHold>> old_holds{};
    std::function<Task<std::vector<std::vector<wire::GpuHold>>>()> ask_old_nodes{};
    std::chrono::milliseconds backoff = wire::default_backoff; // before the first restart
    std::chrono::milliseconds stall{0}; // silence after which the job has stalled; 0: not watched
    bool stop_stalled = false;
    std::chrono::milliseconds suspect{0}; // nothing moves for so long: it is asked why; 0: never
    bool stop_hung = false;
    std::chrono::milliseconds idle{0}; // its GPUs do nothing for so long: it is idle; 0: not watched
    bool stop_idle = false;
    std::string ready{}; // JobPolicy::ready
    // A failure is told at the end; before that where the job takes so long to end.
    std::chrono::milliseconds tell_ending_after = std::chrono::seconds(2);
    bool detach = false;                  // as soon as every part has started, and what `ready` says is so
    std::chrono::milliseconds timeout{0}; // the nodes end the job after it; 0: never
    std::string owner{};                  // who runs it: USER@MACHINE
    std::string cluster{};                // whose name need not be said of its own jobs
    wire::GpuAsk gpus{.share = true};
    std::optional<std::chrono::milliseconds>
        wait{}; // for GPUs that others have; 0: not at all; empty: for ever
    Bytes log_limit{static_cast<std::uint64_t>(wire::default_log_limit)}; // of its output on a node
};

// A job of which every node has heard and that runs nowhere yet. When it goes without run_job, nothing of it
// stays on any node.
struct OpenedJob {
    std::vector<std::unique_ptr<NodeJob>> parts{}; // in the order of the nodes
    std::vector<wire::LaunchFacts> facts{};        // of each part; with the ports
    Errors errors{};                               // where there are any, the job must not run
    // Of open_any: until wait_for_gpus the parts are those that the job may get.
    Choice choice{};
    Errors left_out{}; // why nodes are none of them
    // Of wait_for_gpus: how long it has waited, and since when the GPUs are the job's.
    struct Waited {
        std::chrono::milliseconds time{0};
        LeaseClock::time_point until{};
    };
    std::optional<Waited> waited{};
    bool looks = true; // else a node of an older dockdist cannot say how it stands, and nobody can choose
};

// Free ports, of the first node or of each.
struct PortsWanted {
    int count = 0;
    bool everywhere = false;
};

// Asks every node the questions, side by side, and for ports. `reporter` is told whom it waits for.
Task<OpenedJob> open_job(const Engines& engines, const std::vector<ReadyNode>& nodes,
                         const JobOptions& options, std::vector<wire::Question> questions, PortsWanted ports,
                         Reporter* reporter = nullptr);

// The same on all that the job may get, where nothing is taken yet. A node that cannot have a part in it is
// left out, as long as enough of them can.
Task<OpenedJob> open_any(const Engines& engines, const NodeChoice& choice, JobOptions options,
                         std::vector<wire::Question> questions, int ports, Reporter* reporter = nullptr);

// Starts `launches` (one a part; parts behind them are spare), passes their output to `sink`, and carries the
// job (shared/job_state/job_state_machine.hpp): ends it everywhere at its first failure, or begins it anew;
// ends it at an interrupt (the second one: without grace). Returns when no process of it is left on any node
// that answers, or when it was let go (Interrupts::let_go) and every part has said that it needs this client
// no more. A broken stream is taken up again where it broke.
Task<JobOutcome> run_job(OpenedJob opened, std::vector<NodeLaunch> launches, const JobOptions& options,
                         Interrupts& interrupts, JobSink& sink, Reporter& reporter);

// The same with a job that was started elsewhere, and as much of its output as `query` asks for. Carries it
// too, unless it is detached or one of its nodes did not answer; then it only looks on.
Task<JobOutcome> attach_job(const Engines& engines, const KnownJob& job, wire::JobQuery query, JobSink& sink,
                            Reporter& reporter);

} // namespace dockdist
