#include "probe/pattern.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

namespace pattern_test {

using namespace dockdist;
using namespace dockdist::probe;

namespace {

bool exact_in_bf16(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return (bits & 0xffffU) == 0;
}

} // namespace

TEST_CASE("the sum is that of all ranks, and exact in bf16 on the way") {
    for (const int ranks : {1, 2, 3, 8, 16, 17, 100, 1000}) {
        const Pattern pattern{.world_size = ranks, .salt = 3};
        CAPTURE(ranks);
        for (std::uint64_t index = 0; index < 300; ++index) {
            float sum = 0;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto added = pattern.added(rank, index);
                CHECK(added >= 0);
                CHECK(exact_in_bf16(added));
                sum += added;
            }
            CHECK(sum == pattern.sum(index));
            CHECK(sum <= static_cast<float>(largest_sum));
            CHECK(exact_in_bf16(sum));
            CHECK(exact_in_bf16(pattern.moved(ranks - 1, index)));
        }
    }
}

TEST_CASE("every rank is missed") {
    for (const int ranks : {2, 16, 100}) {
        const Pattern pattern{.world_size = ranks};
        for (int rank = 0; rank < ranks; ++rank) {
            int added = 0;
            for (std::uint64_t index = 0; index < 1000; ++index) {
                added += pattern.added(rank, index) > 0 ? 1 : 0;
            }
            CHECK(added > (ranks <= 16 ? 999 : 50));
        }
    }
}

TEST_CASE("rank, index and salt make a difference") {
    const Pattern pattern{.world_size = 4, .salt = 1};
    const Pattern other{.world_size = 4, .salt = 2};
    int same_rank = 0;
    int same_index = 0;
    int same_salt = 0;
    for (std::uint64_t i = 0; i < 10000; ++i) {
        same_rank += pattern.moved(0, i) == pattern.moved(1, i) ? 1 : 0;
        same_index += pattern.moved(0, i) == pattern.moved(0, i + (1U << 20U)) ? 1 : 0;
        same_salt += pattern.moved(0, i) == other.moved(0, i) ? 1 : 0;
    }
    // One value in 512 is the same by chance: about 20.
    CHECK(same_rank < 60);
    CHECK(same_index < 60);
    CHECK(same_salt < 60);
    CHECK(pattern.moved(2, 5) == pattern.moved(2, 5 + period));
}

TEST_CASE("where a rank's elements come from") {
    const auto gather = expected_segments(Operation::all_gather,
                                          shape_of(Operation::all_gather, 1200, 3, DataType::float32), 1, 3);
    REQUIRE(gather.size() == 3);
    CHECK(gather[2].place == 200);
    CHECK(gather[2].source == 2);
    CHECK(gather[2].source_index == 0);
    const auto all = expected_segments(Operation::all_to_all,
                                       shape_of(Operation::all_to_all, 1200, 3, DataType::float32), 1, 3);
    CHECK(all[2].source == 2);
    CHECK(all[2].source_index == 100);
    const auto scatter = expected_segments(
        Operation::reduce_scatter, shape_of(Operation::reduce_scatter, 1200, 3, DataType::float32), 2, 3);
    CHECK_FALSE(scatter[0].source);
    CHECK(scatter[0].source_index == 200);
    const Shape whole{.receive_count = 10};
    CHECK(expected_segments(Operation::send_receive, whole, 0, 3)[0].source == 2);
    CHECK(expected_segments(Operation::broadcast, whole, 2, 3)[0].source == 0);
}

TEST_CASE("segments fill the receive buffer without a gap") {
    for (const auto operation : every_operation) {
        for (const int ranks : {1, 2, 5}) {
            const auto shape = shape_of(operation, 4000, ranks, DataType::bfloat16);
            std::uint64_t end = 0;
            for (const auto& segment : expected_segments(operation, shape, ranks - 1, ranks)) {
                CHECK(segment.place == end);
                end += segment.count;
            }
            CHECK(end == shape.receive_count);
        }
    }
}

TEST_CASE("one wrong element among millions is found, by its place and values") {
    const Pattern pattern{.world_size = 2, .salt = 9};
    const Segment segment{.place = 100, .count = 2 * period + 500, .source = 1, .source_index = 77};
    const auto expected = segment_bytes(pattern, segment, DataType::float32);
    CHECK(expected.size() == period * 4);

    std::vector<float> got(segment.count);
    for (std::uint64_t i = 0; i < segment.count; ++i) {
        got[i] = pattern.moved(1, 77 + i);
    }
    const auto* bytes = reinterpret_cast<const unsigned char*>(got.data());
    Mismatch mismatch;
    compare(expected, segment, 0, bytes, segment.count, DataType::float32, mismatch);
    CHECK(mismatch.wrong == 0);

    const auto bad = period + 321;
    got[bad] += 1;
    got[bad + 1000] = 0.5;
    // In pieces, as it comes from the device.
    constexpr std::uint64_t piece = 700'000;
    for (std::uint64_t first = 0; first < segment.count; first += piece) {
        compare(expected, segment, first, bytes + first * 4, std::min(piece, segment.count - first),
                DataType::float32, mismatch);
    }
    CHECK(mismatch.wrong == 2);
    CHECK(mismatch.index == 100 + bad);
    CHECK(mismatch.expected == pattern.moved(1, 77 + bad));
    CHECK(mismatch.got == mismatch.expected + 1);
}

TEST_CASE("bf16 holds what float does") {
    const Pattern pattern{.world_size = 3};
    const auto wide = send_bytes(Operation::all_reduce, pattern, 1, 1000, DataType::float32);
    const auto narrow = send_bytes(Operation::all_reduce, pattern, 1, 1000, DataType::bfloat16);
    REQUIRE(wide.size() == 2 * narrow.size());
    for (std::size_t i = 0; i < 1000; ++i) {
        CHECK(std::memcmp(wide.data() + i * 4 + 2, narrow.data() + i * 2, 2) == 0); // little-endian
    }
}

} // namespace pattern_test
