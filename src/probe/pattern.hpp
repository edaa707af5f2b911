// What is in the buffers, so that a lost, swapped or stale element is found: an element depends on its rank,
// its index and a salt that differs from measurement to measurement. All values are small whole numbers, so
// that sums are exact in float and bf16 in whatever order they are added. Pure.
//
// In its index the pattern repeats after `period` elements, a prime: what is moved by a power of two, or by
// any other number below it, is noticed, and a buffer of gigabytes is filled and compared in pieces.
#pragma once

#include "shared/measurement/operation.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dockdist::probe {

inline constexpr std::uint64_t period = 1'048'573;

// A bf16 holds whole numbers up to 256 exactly. At most 16 ranks add to one element, each up to 16 or, in a
// small world, more: which ones depends on the index, and every rank has its share of them.
inline constexpr std::uint64_t largest_sum = 256;

struct Pattern {
    int world_size = 1;
    std::uint64_t salt = 0;

    // What `rank` sends in an operation that moves elements, and in one that sums them.
    float moved(int rank, std::uint64_t index) const;
    float added(int rank, std::uint64_t index) const;
    float sum(std::uint64_t index) const; // of added() over all ranks
};

// A stretch of one rank's receive buffer, and where its elements come from.
struct Segment {
    std::uint64_t place = 0;        // of the first element in the receive buffer
    std::uint64_t count = 0;        // elements
    std::optional<int> source{};    // the rank whose moved() elements they are; none: sums
    std::uint64_t source_index = 0; // of the first element in the source's send buffer
};
std::vector<Segment> expected_segments(Operation operation, const Shape& shape, int rank, int world_size);

// Elements as bytes of the data type: of a send buffer from its start, or of a segment; at most one period of
// them, after which they repeat.
std::vector<unsigned char> send_bytes(Operation operation, const Pattern& pattern, int rank,
                                      std::uint64_t count, DataType type);
std::vector<unsigned char> segment_bytes(const Pattern& pattern, const Segment& segment, DataType type);

struct Mismatch {
    std::uint64_t wrong = 0; // elements
    std::uint64_t index = 0; // of the first one, in the receive buffer
    float expected = 0;
    float got = 0;
};

// Compares a piece of a segment, `first` elements after the segment's start, with its bytes (segment_bytes),
// and adds what differs to `mismatch`.
void compare(const std::vector<unsigned char>& expected, const Segment& segment, std::uint64_t first,
             const unsigned char* got, std::uint64_t count, DataType type, Mismatch& mismatch);

} // namespace dockdist::probe
