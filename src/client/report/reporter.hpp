// Makes the Reporter that fits where the output goes.
#pragma once

#include "client/report/event.hpp"
#include "client/report/output.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace dockdist {

enum class OutputFormat { text, json, csv };

struct ReporterOptions {
    OutputFormat format = OutputFormat::text;
    bool verbose = false;
    bool one_value = false; // of JSON, for which stdout is kept: events are on stderr, too
};

// text, csv: live progress where stderr is a terminal, plain lines where it is not. json: lines on stdout,
// errors on stderr, see json_reporter.hpp. The sink outlives the reporter.
std::unique_ptr<Reporter> make_reporter(const ReporterOptions& options, OutputSink& sink);

// What a reporter knows of the world around it; tests give their own.
struct ReporterSetting {
    OutputTraits traits{};
    bool verbose = false;
    int fd = 2;
    std::function<TerminalSize()> size = [] { return TerminalSize{}; };
    std::function<std::chrono::steady_clock::time_point()> now = [] {
        return std::chrono::steady_clock::now();
    };
};

} // namespace dockdist
