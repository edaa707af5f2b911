// What happens while a command works, as values. Producers emit; a Reporter shows. No text of an event holds
// a secret.
#pragma once

#include "shared/core/error.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace dockdist {

struct Event {
    enum class Kind {
        phase_started,  // phase
        phase_finished, // phase, elapsed
        step_started,   // phase, subject, text: "create container"
        step_progress,  // as above, with current/total in bytes where known
        step_finished,  // phase, subject, text: "created", elapsed
        step_failed,    // phase, subject, text; the error itself comes at the end through Reporter::error
        note,           // subject may be empty
        warning,
        waiting,       // text: what for; it stands until the next one, or `waited`
        still_waiting, // the same thing with newer times, for who can draw over it
        waited,        // elapsed
        asked,         // subject: it is to say something, and nothing else is told until it has
        answered,      // subject
    };
    Kind kind = Kind::note;
    std::string phase{};   // "observe", "image", "create", "start", "join", "ready", "remove", …
    std::string subject{}; // a host or node name
    std::string text{};
    std::optional<std::uint64_t> current{}, total{}; // bytes
    std::chrono::milliseconds elapsed{0};
};

// An error's text and hint as a warning.
inline Event warning_event(const Error& about) {
    return {.kind = Event::Kind::warning,
            .subject = about.where,
            .text = about.message + (about.hint.empty() ? "" : " (" + about.hint + ")")};
}

class Reporter {
public:
    Reporter() = default;
    Reporter(const Reporter&) = delete;
    Reporter& operator=(const Reporter&) = delete;
    virtual ~Reporter() = default;

    virtual void on(const Event& event) = 0;
    virtual void error(const Error& error) = 0;
    // Whether it is for people, who get what is alike in one (fold_errors.hpp).
    virtual bool folds() const { return true; }
    // Whether something moves by itself (spinners, elapsed times): tick() about ten times a second moves it.
    virtual bool moves() const { return false; }
    virtual void tick() {}
    // Ends live display; what is printed afterwards stands below it. Called once, before the program prints
    // results.
    virtual void finish() = 0;
};

// Passes everything on to another one, which outlives it: the base of all that change some of it on the way.
class ForwardingReporter : public Reporter {
public:
    explicit ForwardingReporter(Reporter& next) : next_(next) {}
    void on(const Event& event) override { next_.on(event); }
    void error(const Error& error) override { next_.error(error); }
    bool folds() const override { return next_.folds(); }
    bool moves() const override { return next_.moves(); }
    void tick() override { next_.tick(); }
    void finish() override { next_.finish(); }

protected:
    Reporter& next() { return next_; }

private:
    Reporter& next_;
};

} // namespace dockdist
