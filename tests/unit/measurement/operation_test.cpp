#include "shared/measurement/operation.hpp"

#include <doctest/doctest.h>

namespace operation_test {

using namespace dockdist;

TEST_CASE("bandwidths as nccl-tests computes them") {
    // 8 GB in half a second among 8 ranks; the factors of its doc/PERFORMANCE.md.
    constexpr std::uint64_t bytes = 8'000'000'000;
    const auto bus = [](Operation operation) { return bandwidth_of(operation, bytes, 0.5, 8).bus; };
    CHECK(bandwidth_of(Operation::all_reduce, bytes, 0.5, 8).algorithm == doctest::Approx(16));
    CHECK(bus(Operation::all_reduce) == doctest::Approx(28)); // 2 · 7/8
    CHECK(bus(Operation::all_gather) == doctest::Approx(14)); // 7/8
    CHECK(bus(Operation::reduce_scatter) == doctest::Approx(14));
    CHECK(bus(Operation::all_to_all) == doctest::Approx(14));
    CHECK(bus(Operation::broadcast) == doctest::Approx(16));
    CHECK(bus(Operation::send_receive) == doctest::Approx(16));
}

TEST_CASE("a published line of all_reduce_perf") {
    // github.com/NVIDIA/nccl-tests/issues/194: two ranks, 1 GiB in 9306.7 us: algbw 115.37, busbw 115.37.
    const auto found = bandwidth_of(Operation::all_reduce, 1073741824, 9306.7e-6, 2);
    CHECK(found.algorithm == doctest::Approx(115.37).epsilon(0.0001));
    CHECK(found.bus == doctest::Approx(115.37).epsilon(0.0001));
}

TEST_CASE("a world of one has no bus bandwidth, and no time none at all") {
    for (const auto operation : every_operation) {
        CHECK(bandwidth_of(operation, 1024, 1e-6, 1).bus == 0);
        CHECK(bandwidth_of(operation, 1024, 1e-6, 1).algorithm == doctest::Approx(1.024));
    }
    CHECK(bandwidth_of(Operation::all_reduce, 1024, 0, 8).algorithm == 0);
}

TEST_CASE("names lead back to what they name") {
    for (const auto operation : every_operation) {
        CHECK(parse_operation(to_string(operation)) == operation);
    }
    CHECK(parse_data_type("float") == DataType::float32);
    CHECK(parse_data_type("bf16") == DataType::bfloat16);
    CHECK_FALSE(parse_operation("allreduce"));
    CHECK_FALSE(parse_data_type(""));
}

TEST_CASE("the size is that of the larger buffer") {
    const auto gather = shape_of(Operation::all_gather, 4096, 4, DataType::float32);
    CHECK(gather.send_count == 256);
    CHECK(gather.receive_count == 1024);
    const auto scatter = shape_of(Operation::reduce_scatter, 4096, 4, DataType::bfloat16);
    CHECK(scatter.send_count == 2048);
    CHECK(scatter.receive_count == 512);
    CHECK(shape_of(Operation::all_reduce, 4096, 4, DataType::float32).send_count == 1024);
}

TEST_CASE("sizes are rounded to elements that every rank has as many of") {
    const auto three = shape_of(Operation::all_to_all, 1000, 3, DataType::float32);
    CHECK(three.block_count == 83);
    CHECK(three.bytes == 83 * 3 * 4);
    // Fewer bytes than ranks: one element each.
    const auto many = shape_of(Operation::all_gather, 1024, 512, DataType::float32);
    CHECK(many.send_count == 1);
    CHECK(many.bytes == 2048);
    CHECK(shape_of(Operation::broadcast, 3, 8, DataType::float32).bytes == 4);
}

} // namespace operation_test
