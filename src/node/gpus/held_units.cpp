#include "node/gpus/held_units.hpp"

#include <poll.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t give_back_within_ms = 1000;
constexpr int try_again_ms = 2;

} // namespace

void remove_entry(BoardFile& file, std::uint64_t entry, std::int64_t within_ms) {
    const auto deadline = monotonic_ms() + within_ms;
    while (!file.try_mutex()) {
        if (monotonic_ms() >= deadline) {
            return;
        }
        (void)::poll(nullptr, 0, try_again_ms);
    }
    auto board = file.read();
    if (board && std::erase_if(board->entries, [&](const BoardEntry& one) { return one.id == entry; }) > 0) {
        (void)file.write(*board);
    }
    file.release_mutex();
}

void HeldUnits::give_back() {
    if (units_.empty()) {
        return;
    }
    for (const auto& unit : std::exchange(units_, {})) {
        file_.unlock_unit(unit.id);
    }
    remove_entry(file_, entry_, give_back_within_ms);
    file_.unlock_entry();
    file_ = {};
}

} // namespace dockdist::node
