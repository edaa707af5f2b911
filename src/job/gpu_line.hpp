// How a job gets its GPUs on all of its nodes at once, or waits for them in one line (wire/job.hpp, "GPUs").
// Pure: what the nodes say and the time come in, orders to them go out.
//
//   opened ──all have taken──▶ taken
//      │ one waits                                    ▲ all have taken
//      ▼                                              │
//   numbering ──a number from each──▶ waiting ──▶ taking
//                                        ▲   it fits  │ one refuses
//                                        └────────────┘
#pragma once

#include "wire/job.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dockdist {

class GpuLine {
public:
    struct Order {
        std::size_t part = 0;
        wire::JobCommand command{};
    };

    // What each part's node has answered to the opening.
    explicit GpuLine(std::vector<wire::GpuTurn> opened);

    void hear(std::size_t part, wire::GpuTurn turn);
    // Its stream broke, and another opening was answered with `turn`: its ticket is another one, and what it
    // had taken is taken no more.
    void reopened(std::size_t part, wire::GpuTurn turn);

    // What the nodes have to be told now. Call it after each event, and at wake_at_ms().
    std::vector<Order> decide(std::int64_t now_ms);
    std::optional<std::int64_t> wake_at_ms() const { return wake_at_ms_; }

    // All that is to be taken is taken: nothing more is to be said or heard.
    bool taken() const { return phase_ == Phase::taken; }
    // It stands in line, and every node has said how it is: somewhere the job does not fit now.
    bool has_to_wait() const;
    // Whether a part may still have something to say before it gets another order. What comes later belongs
    // to the job that runs.
    bool is_heard(std::size_t part) const;

    std::int64_t number() const { return number_; } // in line, the same everywhere; 0: none yet
    // As last said, by part.
    std::vector<wire::GpuTurn> turns() const;

private:
    enum class Phase { opened, numbering, waiting, taking, taken };
    struct Part {
        wire::GpuTurn turn{};
        std::int64_t order = 0; // the last one that it was given
        bool takes = false;     // there is something to take
        bool reopened = false;  // and has not been told since where it stands
        bool is_current() const { return turn.order == order; }
        bool fits() const;
    };
    void tell(Part& part, wire::JobCommand::Type type, std::vector<Order>& orders);
    std::vector<Order> tell_all(wire::JobCommand::Type type);
    std::vector<Order> line_up();
    std::vector<Order> tell_reopened();
    template <class Is>
    bool all(Is is) const;

    std::vector<Part> parts_;
    Phase phase_ = Phase::opened;
    std::int64_t orders_ = 0;
    std::int64_t number_ = 0;
    int refusals_ = 0; // one soon after another
    std::int64_t refused_at_ms_ = 0;
    std::optional<std::int64_t> wake_at_ms_{};
};

} // namespace dockdist
