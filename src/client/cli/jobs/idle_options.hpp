// --idle and --on-idle: what becomes of a job whose GPUs do nothing.
#pragma once

#include "client/job/run_job.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/result.hpp"

#include <optional>
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

// Over `idle` of the file. A job that shares (--share) has no GPUs of its own, and is not watched. Errors:
// usage; also --idle of such a job.
Status set_idle(const IdleOptions& options, const IdleSpec& file, bool share, JobOptions& job);

// What to say of a job that shares where the file has `idle`, and the command line leaves it at that.
std::optional<Error> unwatched(const IdleOptions& options, const IdleSpec& file, bool share);

} // namespace dockdist
