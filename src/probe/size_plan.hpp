// Which sizes are measured: those asked for, as far as a device's memory holds them. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace dockdist::probe {

struct SizePlan {
    std::vector<std::uint64_t> sizes{};    // bytes, rising, each once
    std::vector<std::uint64_t> left_out{}; // asked for, too large for the memory
};

// `first`, then `factor` times as much, up to `last`. Empty where first or factor make no sense (0, 1).
std::vector<std::uint64_t> sizes_between(std::uint64_t first, std::uint64_t last, std::uint64_t factor);

// The largest size of which a send and a receive buffer fit into `free` bytes, an eighth of which NCCL keeps
// for its own.
std::uint64_t largest_size(std::uint64_t free);

// `limit` is the least of all ranks: every rank must come to the same plan, else they wait for each other for
// ever.
SizePlan plan_sizes(std::vector<std::uint64_t> wanted, std::uint64_t limit);

} // namespace dockdist::probe
