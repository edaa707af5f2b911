// How many iterations the next size of a series gets, so that the series ends in its time. Pure: ranks that
// are told the same figures come to the same answer, as they must.
#pragma once

#include <cstdint>

namespace dockdist::probe {

class Series {
public:
    static constexpr std::uint64_t most_us = 1ULL << 40U;

    // budget_ms 0: as long as it takes, always with all iterations.
    Series(int iterations, std::int64_t budget_ms) : iterations_(iterations), budget_us_(budget_ms * 1000) {}

    // For the next size, which is not smaller than the last one. 0: it would take too long.
    int iterations_for(std::uint64_t bytes) const;
    // What the last size took, checks and all: the slowest rank's.
    void took(std::uint64_t bytes, std::uint64_t us);

private:
    int iterations_;
    std::int64_t budget_us_;
    std::int64_t spent_us_ = 0;
    double us_per_byte_ = 0; // with as many iterations as the last size had
    int last_iterations_ = 0;
};

} // namespace dockdist::probe
