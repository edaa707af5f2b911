// Passes progress on once it has lasted for half a second; what is done sooner is told by its result alone.
#pragma once

#include "client/report/event.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace dockdist {

class LateReporter : public Reporter {
public:
    explicit LateReporter(Reporter& reporter) : reporter_(reporter) {}
    void on(const Event& event) override {
        if (event.kind == Event::Kind::warning || event.kind == Event::Kind::note) {
            reporter_.on(event);
            return;
        }
        if (std::chrono::steady_clock::now() - begin_ < std::chrono::milliseconds(500)) {
            if (event.kind != Event::Kind::step_progress) {
                held_.push_back(event);
            }
            return;
        }
        late_ = true;
        for (const auto& held : std::exchange(held_, {})) {
            reporter_.on(held);
        }
        phase_ = event.phase;
        reporter_.on(event);
    }
    void error(const Error& error) override { reporter_.error(error); }
    // Ends the display of what was shown.
    void finish() override {
        if (late_) {
            reporter_.on({.kind = Event::Kind::phase_finished, .phase = phase_});
        }
        late_ = false;
    }

    // The next work begins now.
    void restart() {
        held_.clear();
        begin_ = std::chrono::steady_clock::now();
    }

private:
    Reporter& reporter_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::vector<Event> held_{};
    std::string phase_{};
    bool late_ = false;
};

} // namespace dockdist
