// A phase whose hosts begin and end it each at their own time: its events, and its timing.
#pragma once

#include "client/cluster/up.hpp"
#include "client/report/event.hpp"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace dockdist {

inline std::chrono::milliseconds since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

class Phase {
public:
    // Ends when `hosts` hosts have. `timings` gets one more then.
    Phase(Reporter& reporter, std::vector<PhaseTiming>& timings, std::string name, std::size_t hosts)
        : reporter_(reporter), timings_(timings), timing_{.phase = std::move(name)}, hosts_(hosts) {
        reporter_.on({.kind = Event::Kind::phase_started, .phase = timing_.phase});
        end_if_done();
    }

    void ended_on(const std::string& host) {
        if (const auto elapsed = since(begin_); elapsed >= timing_.slowest_elapsed) {
            timing_.slowest = host;
            timing_.slowest_elapsed = elapsed;
        }
        --hosts_;
        end_if_done();
    }

private:
    void end_if_done() {
        if (hosts_ == 0) {
            timing_.elapsed = since(begin_);
            reporter_.on(
                {.kind = Event::Kind::phase_finished, .phase = timing_.phase, .elapsed = timing_.elapsed});
            timings_.push_back(timing_);
        }
    }

    Reporter& reporter_;
    std::vector<PhaseTiming>& timings_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    PhaseTiming timing_;
    std::size_t hosts_;
};

} // namespace dockdist
