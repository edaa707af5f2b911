// For pipes and files: a line when something has ended, no control bytes, no redrawing.
//   node-0: create: created (0.12 s)
//   create: 4 of 4 (0.42 s)
// A transfer under way says how far it is every ten seconds, so that a CI log shows life. Verbose: starts,
// too.
#pragma once

#include "report/progress.hpp"
#include "report/reporter.hpp"

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

    ReporterSetting setting_;
    OutputSink& sink_;
    Progress progress_{};
    std::unordered_map<std::string, ProgressTime> last_progress_{};
};

} // namespace dockdist
