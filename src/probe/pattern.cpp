#include "probe/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace dockdist::probe {
namespace {

constexpr std::uint64_t most_adders = 16;

// The finaliser of SplitMix64: every bit of the input moves every bit of the result.
std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31U);
}

std::uint64_t mix(int rank, std::uint64_t place) {
    return mix(static_cast<std::uint64_t>(rank + 1) * 0x9e3779b97f4a7c15U + place);
}

std::uint64_t adders(std::uint64_t ranks) {
    return std::min(ranks, most_adders);
}

// From 1 on: an adder that is missing is noticed.
std::uint64_t share(int rank, std::uint64_t place, std::uint64_t ranks) {
    return 1 + mix(rank, place) % (largest_sum / adders(ranks));
}

std::uint64_t place_of(const Pattern& pattern, std::uint64_t index) {
    return (index + pattern.salt * 7919) % period;
}

// The ranks that add to an element stand in a row, from this one on.
std::uint64_t first_adder(std::uint64_t place, std::uint64_t ranks) {
    return ranks <= most_adders ? 0 : mix(place) % ranks;
}

void put(float value, DataType type, unsigned char* at) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (type == DataType::float32) {
        std::memcpy(at, &bits, sizeof bits);
        return;
    }
    const auto upper =
        static_cast<std::uint16_t>(bits >> 16U); // exact: the lower bits of small whole numbers are 0
    std::memcpy(at, &upper, sizeof upper);
}

float get(DataType type, const unsigned char* at) {
    std::uint32_t bits = 0;
    if (type == DataType::float32) {
        std::memcpy(&bits, at, sizeof bits);
    } else {
        std::uint16_t upper = 0;
        std::memcpy(&upper, at, sizeof upper);
        bits = std::uint32_t{upper} << 16U;
    }
    return std::bit_cast<float>(bits);
}

template <class Value>
std::vector<unsigned char> bytes_of(std::uint64_t count, DataType type, Value value) {
    const auto elements = std::min(count, period);
    std::vector<unsigned char> bytes(elements * size_of(type));
    for (std::uint64_t i = 0; i < elements; ++i) {
        put(value(i), type, bytes.data() + i * size_of(type));
    }
    return bytes;
}

} // namespace

float Pattern::moved(int rank, std::uint64_t index) const {
    return static_cast<float>(static_cast<int>(mix(rank, place_of(*this, index)) % 512) - 256);
}

float Pattern::added(int rank, std::uint64_t index) const {
    const auto ranks = static_cast<std::uint64_t>(world_size);
    const auto place = place_of(*this, index);
    const auto behind = (static_cast<std::uint64_t>(rank) + ranks - first_adder(place, ranks)) % ranks;
    return behind < adders(ranks) ? static_cast<float>(share(rank, place, ranks)) : 0;
}

float Pattern::sum(std::uint64_t index) const {
    const auto ranks = static_cast<std::uint64_t>(world_size);
    const auto place = place_of(*this, index);
    const auto first = first_adder(place, ranks);
    std::uint64_t total = 0;
    for (std::uint64_t i = 0; i < adders(ranks); ++i) {
        total += share(static_cast<int>((first + i) % ranks), place, ranks);
    }
    return static_cast<float>(total);
}

std::vector<Segment> expected_segments(Operation operation, const Shape& shape, int rank, int world_size) {
    const auto own = static_cast<std::uint64_t>(rank);
    switch (operation) {
    case Operation::all_reduce:
        return {{.count = shape.receive_count}};
    case Operation::reduce_scatter:
        return {{.count = shape.receive_count, .source_index = own * shape.block_count}};
    case Operation::broadcast:
        return {{.count = shape.receive_count, .source = 0}};
    case Operation::send_receive:
        return {{.count = shape.receive_count, .source = (rank + world_size - 1) % world_size}};
    case Operation::all_gather:
    case Operation::all_to_all:
        break;
    }
    std::vector<Segment> segments;
    for (int source = 0; source < world_size; ++source) {
        segments.push_back(
            {.place = static_cast<std::uint64_t>(source) * shape.block_count,
             .count = shape.block_count,
             .source = source,
             .source_index = operation == Operation::all_to_all ? own * shape.block_count : 0});
    }
    return segments;
}

std::vector<unsigned char> send_bytes(Operation operation, const Pattern& pattern, int rank,
                                      std::uint64_t count, DataType type) {
    if (sums(operation)) {
        return bytes_of(count, type, [&](std::uint64_t i) { return pattern.added(rank, i); });
    }
    return bytes_of(count, type, [&](std::uint64_t i) { return pattern.moved(rank, i); });
}

std::vector<unsigned char> segment_bytes(const Pattern& pattern, const Segment& segment, DataType type) {
    if (!segment.source) {
        return bytes_of(segment.count, type,
                        [&](std::uint64_t i) { return pattern.sum(segment.source_index + i); });
    }
    return bytes_of(segment.count, type, [&](std::uint64_t i) {
        return pattern.moved(*segment.source, segment.source_index + i);
    });
}

void compare(const std::vector<unsigned char>& expected, const Segment& segment, std::uint64_t first,
             const unsigned char* got, std::uint64_t count, DataType type, Mismatch& mismatch) {
    const auto size = size_of(type);
    const auto elements = expected.size() / size;
    for (std::uint64_t done = 0; done < count;) {
        const auto from = (first + done) % elements;
        const auto run = std::min(count - done, elements - from);
        const auto* want = expected.data() + from * size;
        const auto* have = got + done * size;
        if (std::memcmp(want, have, run * size) != 0) {
            for (std::uint64_t i = 0; i < run; ++i) {
                if (std::memcmp(want + i * size, have + i * size, size) != 0 && mismatch.wrong++ == 0) {
                    mismatch.index = segment.place + first + done + i;
                    mismatch.expected = get(type, want + i * size);
                    mismatch.got = get(type, have + i * size);
                }
            }
        }
        done += run;
    }
}

} // namespace dockdist::probe
