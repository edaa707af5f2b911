// What a job's wish for GPUs means on this node, and how it stands with it on a board. Asks nobody.
#pragma once

#include "node/gpus/board_file.hpp"
#include "shared/gpu/board.hpp"
#include "shared/gpu/units.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dockdist::node {

struct GpuRequest {
    wire::GpuParty who{};
    wire::GpuAsk ask{};
    // CUDA_VISIBLE_DEVICES, where the user sets it for the job: exactly these are meant then.
    std::optional<std::string> visible{};
    std::string variable = cuda_devices_variable; // that says it: AMD's have others
    std::int64_t timeout_ms = 0;                  // of the job; 0: none
};

// Whether the request is for anything at all.
bool wants_units(const GpuRequest& request);

struct Standing {
    bool fits = false;
    bool fits_but_for_outside = false;     // what processes outside dockdist use is all that is in the way
    std::vector<wire::GpuUnit> free{};     // of which it may choose
    std::vector<std::string> own_rivals{}; // Verdict::own_rivals
    std::vector<wire::GpuHold> held{};
    std::vector<wire::GpuWaiter> ahead{};
    int place = 0;
};

// "3072 MiB in use": what is known of a process outside dockdist.
std::string used_text(const UnitState& state);

class NodeUnits {
public:
    explicit NodeUnits(GpuRequest request, Topology topology = {})
        : request_(std::move(request)), topology_(std::move(topology)) {}

    // The node's units as they are now, in their order. An error says that there can never be enough.
    Status see(std::vector<UnitState> states);
    // Which of them are in use although nobody held them on either board, before and after they were seen.
    void see_use(const Board& before, const Board& after);

    int wanted() const { return wanted_; }
    const std::vector<std::string>& left_out() const { return left_out_; }
    BoardEntry ticket() const; // without a number
    Standing stand(const Board& board, const BoardEntry& own, const BoardFile& file) const;
    ChosenUnits choose(const Standing& standing) const;
    // Parts of this job on one host want more than it has.
    Error too_many_on_one_host(const std::vector<std::string>& own_rivals) const;

private:
    void mean(const std::vector<wire::GpuUnit>& all);
    // The board, with what it does not know: jobs of older nodes, and locks without an entry.
    Board with_the_unknown(Board board, const BoardEntry& own, const BoardFile& file) const;
    void add_outside(Board& board) const;
    wire::GpuHold hold_of(const wire::GpuUnit& unit, const BoardEntry& holder) const;

    GpuRequest request_;
    Topology topology_;
    std::vector<UnitState> states_{};
    std::vector<wire::GpuUnit> meant_{}, sound_{};
    int wanted_ = 0;
    std::vector<std::string> left_out_{};
    std::set<std::string> outside_{};
};

} // namespace dockdist::node
