// What the events so far add up to: the phases, and how far each subject is in them. No I/O; time comes from
// the caller.
#pragma once

#include "client/report/event.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dockdist {

using ProgressTime = std::chrono::steady_clock::time_point;

// One subject's present step in a phase.
struct ProgressStep {
    enum class State { running, finished, failed };
    State state = State::running;
    std::string subject{};
    std::string text{};
    std::optional<std::uint64_t> current{}, total{}; // bytes
    std::uint64_t bytes_per_second = 0;              // over the last seconds; 0 while unknown
    ProgressTime started{};
    std::chrono::milliseconds elapsed{0}; // once it is not running any more

    // Where the measurement of the rate began.
    ProgressTime rate_since{};
    std::uint64_t rate_base = 0;
};

struct ProgressPhase {
    std::string name{};
    ProgressTime started{};
    std::vector<ProgressStep> steps{}; // in the order in which the subjects appeared
    std::size_t finished = 0, failed = 0;

    std::size_t running() const { return steps.size() - finished - failed; }
};

// "2 of 4", "2 of 4, 1 failed".
std::string count_text(const ProgressPhase& phase);

class Progress {
public:
    // phase_finished changes nothing: ask find() for what the phase came to, then end() it.
    void apply(const Event& event, ProgressTime now);
    const ProgressPhase* find(const std::string& phase) const;
    void end(const std::string& phase);

    const std::vector<ProgressPhase>& phases() const {
        return phases_;
    } // those that have begun and not ended

private:
    ProgressPhase& phase_of(const Event& event, ProgressTime now);
    ProgressStep& step_of(ProgressPhase& phase, const Event& event, ProgressTime now);

    std::vector<ProgressPhase> phases_{};
    std::unordered_map<std::string, std::unordered_map<std::string, std::size_t>>
        rows_{}; // phase → subject → index
};

// "12.0 MiB of 40.0 MiB, 11.0 MiB/s, 3 s left"; empty for a step that counts no bytes or has ended.
std::string transfer_text(const ProgressStep& step);

} // namespace dockdist
