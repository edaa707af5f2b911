// One step of one host or node, told to a Reporter from its start to its end with the time it took.
#pragma once

#include "client/report/event.hpp"

#include <chrono>
#include <utility>

namespace dockdist {

class Step {
public:
    Step(Reporter& reporter, std::string phase, std::string subject, std::string text)
        : reporter_(reporter), phase_(std::move(phase)), subject_(std::move(subject)) {
        tell(Event::Kind::step_started, std::move(text));
    }

    void progress(std::string text, std::optional<std::uint64_t> current,
                  std::optional<std::uint64_t> total) {
        reporter_.on({.kind = Event::Kind::step_progress,
                      .phase = phase_,
                      .subject = subject_,
                      .text = std::move(text),
                      .current = current,
                      .total = total,
                      .elapsed = elapsed()});
    }
    void finished(std::string text) { tell(Event::Kind::step_finished, std::move(text)); }
    void failed(std::string text) { tell(Event::Kind::step_failed, std::move(text)); }

    std::chrono::milliseconds elapsed() const {
        return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                     begin_);
    }

private:
    void tell(Event::Kind kind, std::string text) {
        reporter_.on({.kind = kind,
                      .phase = phase_,
                      .subject = subject_,
                      .text = std::move(text),
                      .elapsed = elapsed()});
    }

    Reporter& reporter_;
    std::string phase_, subject_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// A host or node that a command waits for, as long as this lives: where that lasts, its name stands on the
// terminal.
class Awaited {
public:
    Awaited(Reporter& reporter, std::string subject) : reporter_(reporter), subject_(std::move(subject)) {
        reporter_.on({.kind = Event::Kind::asked, .subject = subject_});
    }
    Awaited(const Awaited&) = delete;
    Awaited& operator=(const Awaited&) = delete;
    ~Awaited() { reporter_.on({.kind = Event::Kind::answered, .subject = subject_}); }

private:
    Reporter& reporter_;
    std::string subject_;
};

} // namespace dockdist
