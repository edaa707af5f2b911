// Units that are a part's own, for as long as this object or a copy of its descriptor is open.
#pragma once

#include "node/gpus/board_file.hpp"

#include <vector>

namespace dockdist::node {

class HeldUnits {
public:
    HeldUnits() = default; // none
    HeldUnits(BoardFile file, std::uint64_t entry, std::vector<wire::GpuUnit> units)
        : file_(std::move(file)), entry_(entry), units_(std::move(units)) {}

    const std::vector<wire::GpuUnit>& units() const { return units_; }
    // What another process has to keep open for them to stay held; -1: nothing is held.
    int descriptor() const { return units_.empty() ? -1 : file_.descriptor(); }
    // For all processes that have the descriptor. Who waits hears of it at once.
    void give_back();

private:
    BoardFile file_{};
    std::uint64_t entry_ = 0;
    std::vector<wire::GpuUnit> units_{};
};

// Takes the participant's entry off the board, if it can have the mutex within the time; where it cannot,
// the entry is a dead one as soon as its lock goes.
void remove_entry(BoardFile& file, std::uint64_t entry, std::int64_t within_ms);

} // namespace dockdist::node
