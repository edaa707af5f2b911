// For pipes and files: a line when something has ended, no control bytes, no redrawing.
//   node-0: create: created (0.12 s)
//   create: 4 of 4 (0.42 s)
// A transfer under way says how far it is every ten seconds, so that a CI log shows life. Of many hosts the
// first twenty of a phase have lines, and the first twenty that failed; the rest is counted every ten
// seconds. Verbose: starts, too, and every line.
#pragma once

#include "client/report/progress.hpp"
#include "client/report/reporter.hpp"

#include <string>
#include <unordered_map>

namespace dockdist {

class PlainReporter : public Reporter {
public:
    PlainReporter(ReporterSetting setting, OutputSink& sink);
    void on(const Event& event) override;
    void error(const Error& error) override;
    void finish() override {}

private:
    void write(const std::string& text) { sink_.write(setting_.fd, Displayable::drawn(text)); }
    void write_progress(const Event& event);
    void write_ended(const Event& event, const std::string& text);

    ReporterSetting setting_;
    OutputSink& sink_;
    Progress progress_{};
    std::unordered_map<std::string, ProgressTime> last_progress_{};
    struct Told {
        std::size_t finished = 0, failed = 0; // lines
        ProgressTime counted{};
    };
    std::unordered_map<std::string, Told> told_{}; // by phase
};

} // namespace dockdist
