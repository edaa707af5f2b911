// `dockdist export ENGINE`: what all engines' exports have in common on the command line. Each is a file of
// its own, export_ENGINE.cpp.
#pragma once

#include "client/cli/context.hpp"
#include "client/cli/jobs/run_options.hpp"
#include "client/export/export_job.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>

namespace CLI {
class App;
}

namespace dockdist {

void add_export_slurm(CLI::App& exports, Program& program);
void add_export_kubernetes(CLI::App& exports, Program& program);

// Writes the job down; called once the file is loaded.
using Exporter = std::function<Result<Exported>(const ExportJob& job)>;

// The options of `run` for `command`, and its work: no host is contacted, no secret is read; warnings go to
// stderr, and the text alone to stdout, with -o json as JSON.
void set_export(CLI::App& command, Program& program, Exporter exporter);

// Errors: usage, config.
Result<ExportJob> export_job_of(const RunOptions& options, const ClusterSpec& spec,
                                std::set<std::string> given);

} // namespace dockdist
