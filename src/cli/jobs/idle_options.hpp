// --idle and --on-idle: what becomes of a job whose GPUs do nothing.
#pragma once

#include "core/result.hpp"
#include "job/run_job.hpp"
#include "spec/cluster_spec.hpp"

#include <string>

namespace CLI {
class App;
}

namespace dockdist {

struct IdleOptions {
    std::string idle{};    // empty: as the file says
    std::string on_idle{}; // the same
};
void add_idle_options(CLI::App& command, IdleOptions& options);

// Over `idle` of the file. Errors: usage.
Status set_idle(const IdleOptions& options, const IdleSpec& file, JobOptions& job);

} // namespace dockdist
