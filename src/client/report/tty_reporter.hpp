// Live progress on a terminal. The phases under way stand at the bottom, a line a host or node:
//   ⠹ create  2 of 4  0.31 s
//     ✓ node-0  created           0.12 s
//     ⠹ node-1  create container  0.31 s
// A phase that has ended becomes one line (and a line for each subject that did not finish; verbose: for
// every subject). Notes, warnings and errors stand above what is live. With more subjects than the terminal
// has lines: those that failed, then those at work, the slowest first, then "… and 180 more: 8 at work, 172
// done".
#pragma once

#include "client/report/live_region.hpp"
#include "client/report/progress.hpp"
#include "client/report/reporter.hpp"

#include <string>
#include <vector>

namespace dockdist {

class TtyReporter : public Reporter {
public:
    TtyReporter(ReporterSetting setting, OutputSink& sink);
    ~TtyReporter() override;

    void on(const Event& event) override;
    void error(const Error& error) override;
    bool moves() const override { return true; }
    void tick() override;
    void finish() override;

private:
    std::string row(const ProgressStep& step, std::size_t subject_width, std::size_t text_width,
                    ProgressTime now) const;
    std::string header(const ProgressPhase& phase, std::string_view mark,
                       std::chrono::milliseconds elapsed) const;
    std::vector<std::string> rows_of(const ProgressPhase& phase, std::size_t room, ProgressTime now) const;
    std::vector<std::string> summary(const ProgressPhase& phase, std::chrono::milliseconds elapsed,
                                     ProgressTime now) const;
    std::vector<std::string> live_lines(TerminalSize size, ProgressTime now) const;
    std::vector<std::string> waiting_lines(const std::string& what, ProgressTime began, TerminalSize size,
                                           ProgressTime now) const;
    std::string mark(ProgressStep::State state, ProgressTime now) const;
    bool is_live(ProgressTime now) const;
    std::string asked_text(ProgressTime now) const; // empty: nobody has been asked for long
    void answered(const std::string& subject, ProgressTime now);
    OutputTraits traits() const;
    std::string joined(const std::vector<std::string>& lines) const;
    void print_above(const std::string& lines); // whole lines
    void redraw(ProgressTime now);

    ReporterSetting setting_;
    OutputSink& sink_;
    Progress progress_{};
    LiveRegion region_{};
    ProgressTime last_draw_;
    ProgressTime start_;
    std::string waiting_{}; // for what; empty: it does not
    ProgressTime waiting_since_{};
    struct Asked {
        std::string subject{};
        ProgressTime since{};
    };
    std::vector<Asked> asked_{}; // and not answered yet
    bool finished_ = false;
};

} // namespace dockdist
