// Passes progress on once it has lasted for half a second; what is done sooner is told by its result alone.
#pragma once

#include "client/report/event.hpp"

#include <chrono>
#include <utility>
#include <vector>

namespace dockdist {

class LateReporter : public ForwardingReporter {
public:
    using ForwardingReporter::ForwardingReporter;
    void on(const Event& event) override {
        if (event.kind == Event::Kind::warning || event.kind == Event::Kind::note) {
            next().on(event);
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
            next().on(held);
        }
        phase_ = event.phase;
        next().on(event);
    }
    // Ends the display of what was shown.
    void finish() override {
        if (late_) {
            next().on({.kind = Event::Kind::phase_finished, .phase = phase_});
        }
        late_ = false;
    }

    // The next work begins now.
    void restart() {
        held_.clear();
        begin_ = std::chrono::steady_clock::now();
    }

private:
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::vector<Event> held_{};
    std::string phase_{};
    bool late_ = false;
};

} // namespace dockdist
