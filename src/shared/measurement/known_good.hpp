// Bus bandwidths that sound machines of a kind reach, from people who published them, and what to make of a
// measured one. Pure.
#pragma once

#include "shared/measurement/operation.hpp"

#include <cstdint>
#include <string_view>

namespace dockdist {

// For all GPUs of one node of eight, joined by NVSwitch, and the sizes at which the measurement no longer
// rises.
struct KnownGood {
    std::string_view gpu{};    // the start of the name that the driver gives
    bool all_reduce = false;   // all_reduce, which NVLink SHARP speeds up; else the other operations
    double bus_bandwidth = 0;  // GB/s
    std::string_view source{}; // where it was published
};

enum class Grade {
    none, // there is nothing to compare with: a world of one (a copy), another GPU, number of GPUs or size
    pass, // nine tenths of the known measurement, or more
    warn, // three quarters, or more
    fail,
};

struct Grading {
    Grade grade = Grade::none;
    const KnownGood* known = nullptr; // what it was compared with; null for none
};

inline constexpr std::uint64_t graded_from =
    1U << 30U; // bytes; below it the measurement still rises with the size
inline constexpr int graded_gpus = 8;

// Of a measurement between the GPUs of one node.
Grading grade(std::string_view gpu, Operation operation, int gpus, std::uint64_t bytes, double bus_bandwidth);

} // namespace dockdist
