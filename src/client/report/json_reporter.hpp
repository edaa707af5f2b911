// `-o json`: one JSON object a line, events on stdout where the command prints lines there itself, and on
// stderr where what it prints is one value. The field names are part of the command line's contract:
//   {"type":"event","kind":"step_finished","phase":"create","subject":"node-0","text":"created","elapsed_ms":120}
//       kind: as Event::Kind. phase, subject, text: absent where empty. current, total: bytes, with
//       step_progress where known. elapsed_ms: with *_finished and step_failed.
// Always on stderr:
//   {"type":"error","kind":"engine","where":"node-0 (tcp://10.0.0.1:2375)","message":"…","hint":"…"}
//       kind: as ErrorKind. where, hint: absent where empty.
// step_progress comes once a second for a subject at most. Bytes that are not UTF-8 appear as U+FFFD.
#pragma once

#include "client/report/reporter.hpp"

#include <string>
#include <unordered_map>

namespace dockdist {

class JsonReporter : public Reporter {
public:
    JsonReporter(ReporterSetting setting, OutputSink& sink);
    void on(const Event& event) override;
    void error(const Error& error) override;
    bool folds() const override { return false; }
    void finish() override {}

private:
    ReporterSetting setting_;
    OutputSink& sink_;
    std::unordered_map<std::string, std::chrono::steady_clock::time_point> last_progress_{};
};

} // namespace dockdist
