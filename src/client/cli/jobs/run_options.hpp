// The options of `run`, and what of them makes a job's settings.
#pragma once

#include "client/cli/files/sync_and_collect.hpp"
#include "client/cli/jobs/idle_options.hpp"
#include "client/cli/jobs/job_view.hpp"
#include "client/cli/jobs/restart_options.hpp"
#include "client/job/run_job.hpp"
#include "client/spec/cluster_spec.hpp"
#include "client/spec/node_words.hpp"
#include "shared/core/units.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct RunOptions {
    std::string nodes{};
    std::string exclude{};
    bool keep_going = false;
    std::optional<int> gpus{};
    bool share = false;
    bool no_wait = false;
    std::string wait{}; // for GPUs; empty: as long as it takes
    int priority = 0;
    std::string launcher{};
    std::string via{};
    std::vector<std::string> launcher_args{};
    bool per_rank = false;
    std::vector<std::string> roles{};
    bool dry_run = false;
    std::vector<std::string> env{};
    std::string workdir{};
    std::string grace = flag_duration(wire::default_grace);
    std::string signal = "TERM";
    std::string lease = flag_duration(wire::default_lease);
    RestartOptions restarts{};
    std::string backoff = flag_duration(wire::default_backoff);
    std::string stall{};
    std::string on_stall = "report";
    std::string diagnose{}; // empty: as the launcher is
    IdleOptions idle{};
    std::string ready{};
    bool detach = false;
    bool detach_on_hangup = false;
    std::string name{};
    std::string timeout{};
    std::string log_limit = "1g";
    std::string page{}; // --report
    JobViewOptions view{};
    SyncAndCollectOptions carry{};
    std::vector<std::string> forward{}; // PORT[:HOST:PORT], client/forward/forward_port.hpp
    std::vector<std::string> command{};
};
void add_run_options(CLI::App& command, RunOptions& options);

// What of --nodes and --exclude names nodes.
std::vector<NodeWords> named_by(const RunOptions& options);    // by --nodes, if that is no count; all that do
std::vector<NodeWords> excluded_by(const RunOptions& options); // by --exclude

// All but --env, secrets and restarts, of options that add_run_options() has let pass. Errors (usage): what
// they are not together, or with the file.
Result<JobOptions> job_options(const RunOptions& options, const ClusterSpec& spec);

} // namespace dockdist
