#include "client/cli/jobs/restart_options.hpp"

#include "client/cli/line/values.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace dockdist {

void add_restart_options(CLI::App& command, RestartOptions& options) {
    number(command.add_option("--max-restarts", options.max_restarts,
                              "How often the whole job is restarted after a failure (default: 0; with "
                              "--min-nodes or spare nodes: one for each node that may be lost)"),
           0);
    number(command.add_option("--min-nodes", options.min_nodes,
                              "When a node is lost, restart without it as long as this many are left; ranks "
                              "are renumbered (default: a lost node that no spare replaces ends the job)"),
           1);
    number(command.add_option("--spares", options.spares,
                              "How many of the chosen nodes, the last ones, stay idle until a node is lost "
                              "and the first of them takes its place; `--nodes N` chooses them beside the N "
                              "(default: `spares` of the file, or 0)"),
           0);
}

Status set_restarts(const RestartOptions& options, int nodes, int spares, JobOptions& job) {
    job.max_restarts = options.max_restarts.value_or(0);
    if (!options.min_nodes && spares == 0) {
        return ok;
    }
    job.min_nodes = options.min_nodes.value_or(nodes - spares);
    if (job.min_nodes > nodes - spares) {
        return Error{ErrorKind::usage, "--min-nodes",
                     fmt::format("{} nodes are required at least, and the job starts on {}", job.min_nodes,
                                 nodes - spares),
                     "choose more nodes, or ask for fewer"};
    }
    if (options.min_nodes && options.max_restarts == 0) {
        return Error{ErrorKind::usage, "--min-nodes",
                     "a job that is never restarted cannot go on without a lost node",
                     "leave --max-restarts out, or give it 1 or more"};
    }
    job.max_restarts = options.max_restarts.value_or(nodes - job.min_nodes);
    return ok;
}

} // namespace dockdist
