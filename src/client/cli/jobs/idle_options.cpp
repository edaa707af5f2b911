#include "client/cli/jobs/idle_options.hpp"

#include "client/cli/line/values.hpp"
#include "shared/core/units.hpp"

#include <CLI/CLI.hpp>

namespace dockdist {
namespace {

Status check_share(const IdleOptions& options) {
    const std::string given = !options.idle.empty() && options.idle != "off" ? "--idle"
                              : !options.on_idle.empty()                     ? "--on-idle"
                                                                             : "";
    return given.empty() ? Status(ok)
                         : Error{ErrorKind::usage, given,
                                 "a job with --share has no GPUs of its own that could be watched",
                                 "leave out --share or " + given};
}

} // namespace

void add_idle_options(CLI::App& command, IdleOptions& options) {
    duration_or_off(
        command.add_option("--idle", options.idle,
                           "When all GPUs of the job have been idle for this long: warn, or do what "
                           "--on-idle says; off: do not watch (default: `idle` in the file, or off)"));
    choice(command.add_option("--on-idle", options.on_idle,
                              "What to do with such a job: warn (it goes on), or stop, which is a failure "
                              "(exit code 124, or a restart) (default: `idle` in the file, or warn)"),
           {"warn", "stop"});
}

Status set_idle(const IdleOptions& options, const IdleSpec& file, bool share, JobOptions& job) {
    if (share) {
        return check_share(options);
    }
    job.idle = file.after;
    job.stop_idle = options.on_idle.empty() ? file.stop : options.on_idle == "stop";
    if (options.idle == "off") {
        job.idle = {};
    } else if (!options.idle.empty()) {
        job.idle = parse_duration(options.idle).value_or(job.idle);
    }
    if (job.idle.count() == 0 && !options.on_idle.empty()) {
        return Error{ErrorKind::usage, "--on-idle", "the job's GPUs are not watched for idleness",
                     "add --idle 30m"};
    }
    return ok;
}

std::optional<Error> unwatched(const IdleOptions& options, const IdleSpec& file, bool share) {
    if (!share || file.after.count() == 0 || !options.idle.empty()) {
        return std::nullopt;
    }
    return Error{ErrorKind::usage, "",
                 "`idle` in the file does not apply to this job: with --share it has no GPUs of its own",
                 "--idle off says that this is intended"};
}

} // namespace dockdist
