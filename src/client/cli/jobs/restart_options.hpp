// How often a job is begun anew, and what becomes of it when a node is lost.
#pragma once

#include "client/job/run_job.hpp"
#include "shared/core/result.hpp"

#include <optional>

namespace CLI {
class App;
}

namespace dockdist {

struct RestartOptions {
    std::optional<int> max_restarts{};
    std::optional<int> min_nodes{};
    std::optional<int> spares{}; // default: the file's
};
// --max-restarts, --min-nodes and --spares.
void add_restart_options(CLI::App& command, RestartOptions& options);

// For a job on `nodes`, of which `spares` are spare. With --min-nodes or spare nodes there is a restart for
// each node that may be lost, unless --max-restarts says how many. Errors: usage.
Status set_restarts(const RestartOptions& options, int nodes, int spares, JobOptions& job);

} // namespace dockdist
