#include "client/report/reporter.hpp"

#include "client/report/json_reporter.hpp"
#include "client/report/plain_reporter.hpp"
#include "client/report/tty_reporter.hpp"

#include <unistd.h>

namespace dockdist {

std::unique_ptr<Reporter> make_reporter(const ReporterOptions& options, OutputSink& sink) {
    ReporterSetting setting{
        .traits = probe_output(STDERR_FILENO), .verbose = options.verbose, .fd = STDERR_FILENO};
    if (options.format == OutputFormat::json) {
        setting.fd = options.one_value ? STDERR_FILENO : STDOUT_FILENO;
        return std::make_unique<JsonReporter>(setting, sink);
    }
    if (setting.traits.tty) {
        setting.size = [] { return terminal_size(STDERR_FILENO); };
        return std::make_unique<TtyReporter>(setting, sink);
    }
    return std::make_unique<PlainReporter>(setting, sink);
}

} // namespace dockdist
