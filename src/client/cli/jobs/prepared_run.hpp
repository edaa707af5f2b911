// What the command line of `run` means with the file, before any node is known: `run` starts it, `export`
// writes it down for another engine.
#pragma once

#include "client/cli/jobs/run_options.hpp"
#include "client/job/run_job.hpp"
#include "client/job/select_nodes.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/result.hpp"
#include "shared/launch/launcher.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace dockdist {

struct PreparedRun {
    Launcher launcher{};
    JobOptions job{};
    std::vector<ReadyNode> nodes{}; // the last ones are spare
    std::size_t spares = 0;
    LaunchRequest request{};      // over those that are not, once launches are decided
    bool launcher_stated = false; // by the line or the file; else it is plain for want of a word
};

// What can be wrong with the command line whatever the nodes are. It has none yet. Errors: usage.
Result<PreparedRun> judge_run(const RunOptions& options, const ClusterSpec& spec);

// A launch line of the user's own under plain, now that it is known on how many nodes it would start: an
// error where nobody has asked for plain, else `warning`.
Status judge_launch_line(const PreparedRun& prepared, std::size_t nodes, std::optional<Error>& warning);

} // namespace dockdist
