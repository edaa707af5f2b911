#include "cli/jobs/idle_options.hpp"

#include "cli/line/values.hpp"
#include "core/text.hpp"
#include "core/units.hpp"

#include <CLI/CLI.hpp>

namespace dockdist {

void add_idle_options(CLI::App& command, IdleOptions& options) {
    command
        .add_option("--idle", options.idle,
                    "When all GPUs of the job have done nothing for this time: tell so, or what --on-idle "
                    "says; off: do not watch (default: `idle` in the file, or off)")
        ->type_name("DURATION|off");
    choice(command.add_option("--on-idle", options.on_idle,
                              "What becomes of such a job: warn (it goes on), or stop: that is a failure "
                              "(exit code 124, or a restart) (default: `idle` in the file, or warn)"),
           {"warn", "stop"});
}

Status set_idle(const IdleOptions& options, const IdleSpec& file, JobOptions& job) {
    job.idle = file.after;
    job.stop_idle = options.on_idle.empty() ? file.stop : options.on_idle == "stop";
    if (options.idle == "off") {
        job.idle = {};
    } else if (!options.idle.empty()) {
        const auto given = parse_duration(options.idle);
        if (!given || given->count() == 0) {
            return Error{ErrorKind::usage, "--idle",
                         "`" + printable(options.idle) + "` is not a duration above zero",
                         "write it like 30m or 1h30m, or off"};
        }
        job.idle = *given;
    }
    if (job.idle.count() == 0 && !options.on_idle.empty()) {
        return Error{ErrorKind::usage, "--on-idle", "nobody watches whether the job's GPUs do something",
                     "give --idle 30m beside it"};
    }
    return ok;
}

} // namespace dockdist
