// The node's units as they are now, asked anew where what is known is too old.
#pragma once

#include "node/gpus/gpu_look.hpp"
#include "node/gpus/node_units.hpp"
#include "node/system/loop.hpp"

#include <functional>
#include <memory>

namespace dockdist::node {

class UnitFacts {
public:
    // Where `at_join` is not known, nvidia-smi is asked for all.
    UnitFacts(Loop& loop, GpuRequest request, Result<KnownGpus> at_join);

    // Whether the request is for any; before the first refresh, whether it may be.
    bool any_wanted() const { return any_wanted_; }
    const NodeUnits& units() const { return units_; }

    // Asks unless it was asked at `not_before_ms` or later, and calls `then`: at once, or from the loop. An
    // error says that the job can never have what it wants; or, the first time, that nothing is known. One at
    // a time.
    void refresh(std::int64_t not_before_ms, const BoardFile& board, std::function<void(Status)> then);

private:
    void hear(const Result<SeenGpus>& seen, const BoardFile& board, const Board& before,
              const std::function<void(Status)>& then);
    Status see_slots();
    Status see(std::vector<UnitState> states);

    Loop& loop_;
    GpuRequest request_;
    Result<KnownGpus> at_join_;
    NodeUnits units_;
    bool any_wanted_;
    bool by_slots_;
    bool known_ = false;
    std::int64_t asked_at_ms_ = 0;
    std::unique_ptr<GpuLook> look_{};
};

} // namespace dockdist::node
