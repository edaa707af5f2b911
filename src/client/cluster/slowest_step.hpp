// Passes events on, and remembers which of the steps that ended took longest.
#pragma once

#include "client/report/event.hpp"

#include <chrono>
#include <string>

namespace dockdist {

class SlowestStep : public ForwardingReporter {
public:
    using ForwardingReporter::ForwardingReporter;

    void on(const Event& event) override {
        const bool ended = event.kind == Event::Kind::step_finished || event.kind == Event::Kind::step_failed;
        if (ended && event.elapsed >= elapsed_) {
            subject_ = event.subject;
            elapsed_ = event.elapsed;
        }
        next().on(event);
    }

    const std::string& subject() const { return subject_; } // empty: none has ended
    std::chrono::milliseconds elapsed() const { return elapsed_; }

private:
    std::string subject_{};
    std::chrono::milliseconds elapsed_{0};
};

} // namespace dockdist
