#include "node/gpus/unit_facts.hpp"

#include <utility>

namespace dockdist::node {
namespace {

// One of another format is told by who takes units.
Board read_or_none(const BoardFile& file) {
    auto board = file.read();
    return board ? std::move(*board) : Board{};
}

} // namespace

UnitFacts::UnitFacts(Loop& loop, GpuRequest request, Result<KnownGpus> at_join)
    : loop_(loop), request_(std::move(request)), at_join_(std::move(at_join)),
      units_(request_, at_join_ ? parse_topology(at_join_->topology) : Topology{}),
      any_wanted_(wants_units(request_)), by_slots_(at_join_ && at_join_->units.empty()) {}

void UnitFacts::refresh(std::int64_t not_before_ms, const BoardFile& board,
                        std::function<void(Status)> then) {
    if (known_ && (by_slots_ || asked_at_ms_ >= not_before_ms)) {
        return then(ok);
    }
    if (by_slots_) {
        return then(see_slots());
    }
    asked_at_ms_ = loop_.now_ms();
    look_ = std::make_unique<GpuLook>(loop_, [this, &board, before = read_or_none(board),
                                              then = std::move(then)](const Result<SeenGpus>& seen) {
        const auto keep = std::move(look_); // this is called from it
        hear(seen, board, before, then);
    });
}

void UnitFacts::hear(const Result<SeenGpus>& seen, const BoardFile& board, const Board& before,
                     const std::function<void(Status)>& then) {
    if (seen) {
        auto enough = see(unit_states(at_join_ ? at_join_->units : std::vector<wire::GpuUnit>(), *seen));
        units_.see_use(before, read_or_none(board));
        return then(std::move(enough));
    }
    if (known_) {
        return then(ok); // it does not answer any more: what it has said before stands
    }
    if (seen.error().kind != ErrorKind::not_found) {
        return then(seen.error());
    }
    if (at_join_) {
        return then(Error{.kind = ErrorKind::node,
                          .message = "this node had GPUs when it joined, and now " + seen.error().message,
                          .hint = "`--share` does not ask for it"});
    }
    by_slots_ = true;
    then(see_slots());
}

Status UnitFacts::see_slots() {
    return see(slot_states(request_.who.cluster, request_.who.node, at_join_ ? at_join_->slots : 1));
}

Status UnitFacts::see(std::vector<UnitState> states) {
    known_ = true;
    auto enough = units_.see(std::move(states));
    any_wanted_ = units_.wanted() > 0;
    return enough;
}

} // namespace dockdist::node
