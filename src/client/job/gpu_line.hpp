// How a job gets its GPUs on all of its nodes at once, or waits for them in one line (shared/wire/job.hpp,
// "GPUs"). Pure: what the nodes say and the time come in, orders to them go out.
//
//   opened ──all have taken──▶ taken
//      │ one waits                                    ▲ all have taken
//      ▼                                              │
//   numbering ──a number from each──▶ waiting ──▶ taking
//                                        ▲   it fits  │ one refuses
//                                        └────────────┘
//
// A job that may have any of several nodes has a part on each of them. It takes where it fits, as
// shared/gpu/place.hpp says; where that is nowhere it stands in line where it will fit first, with tickets
// there alone, and takes wherever it fits in the meantime.
#pragma once

#include "shared/gpu/place.hpp"
#include "shared/wire/job.hpp"

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
    explicit GpuLine(std::vector<wire::GpuTurn> opened, Choice choice = {});

    void hear(std::size_t part, wire::GpuTurn turn);
    // Its stream broke, and another opening was answered with `turn`: its ticket is another one, and what it
    // had taken is taken no more.
    void reopened(std::size_t part, wire::GpuTurn turn);
    // Its node is gone. False: the job cannot do without. Where it stood in line the line is begun anew.
    bool lost(std::size_t part);

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
    // The parts that have taken, or are being asked to; else those where the job stands in line, or would.
    const std::vector<std::size_t>& targets() const { return targets_; }
    // As last said, by part.
    std::vector<wire::GpuTurn> turns() const;

private:
    enum class Phase { opened, numbering, waiting, taking, taken };
    struct Part {
        wire::GpuTurn turn{};
        std::int64_t order = 0; // the last one that it was given
        bool takes = false;     // there is something to take
        bool reopened = false;  // and has not been told since where it stands
        bool gone = false;
        bool in_line = false; // it has a ticket, or is to have one
        bool is_current() const { return turn.order == order; }
        bool fits() const;
    };
    using Parts = std::vector<std::size_t>;
    void tell(std::size_t part, wire::JobCommand::Type type, std::vector<Order>& orders);
    std::vector<Order> tell_targets(wire::JobCommand::Type type);
    std::vector<Order> look_again();
    std::vector<Order> open();
    std::vector<Order> line_up();
    std::vector<Order> tell_reopened();
    std::vector<Order> take(Parts parts);
    std::vector<Order> give_back();
    std::vector<Site> sites() const;
    Parts in_line() const;
    template <class Is>
    bool all(Is is) const;

    std::vector<Part> parts_;
    Choice choice_;
    Parts targets_{};
    bool looks_again_ = false; // what it has taken, and its tickets, are to be given back
    Phase phase_ = Phase::opened;
    std::int64_t orders_ = 0;
    std::int64_t number_ = 0;
    int refusals_ = 0; // one soon after another
    std::int64_t refused_at_ms_ = 0;
    std::optional<std::int64_t> wake_at_ms_{};
};

} // namespace dockdist
