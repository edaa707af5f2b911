#include "shared/measurement/known_good.hpp"

#include <doctest/doctest.h>

namespace known_good_test {

using namespace dockdist;

namespace {

constexpr std::uint64_t gib = 1U << 30U;
constexpr auto h100 = "NVIDIA H100 80GB HBM3";

} // namespace

TEST_CASE("eight H100") {
    const auto sound = grade(h100, Operation::all_reduce, 8, 8 * gib, 478);
    CHECK(sound.grade == Grade::pass);
    REQUIRE(sound.known != nullptr);
    CHECK(sound.known->bus_bandwidth == 480);
    CHECK_FALSE(sound.known->source.empty());
    // Without NVLink SHARP an all_reduce reaches what the others do.
    CHECK(grade(h100, Operation::all_reduce, 8, 8 * gib, 370).grade == Grade::warn);
    CHECK(grade(h100, Operation::all_reduce, 8, 8 * gib, 250).grade == Grade::fail);
    CHECK(grade(h100, Operation::all_gather, 8, 8 * gib, 365).grade == Grade::pass);
}

TEST_CASE("A100 and H200") {
    CHECK(grade("NVIDIA A100-SXM4-80GB", Operation::all_reduce, 8, gib, 200).grade == Grade::pass);
    CHECK(grade("NVIDIA A100-SXM4-40GB", Operation::all_reduce, 8, gib, 100).grade == Grade::fail);
    CHECK(grade("NVIDIA H200", Operation::all_reduce, 8, gib, 470).grade == Grade::pass);
}

TEST_CASE("what nobody published is not graded") {
    CHECK(grade(h100, Operation::all_reduce, 1, 8 * gib, 0).grade == Grade::none); // a copy
    CHECK(grade(h100, Operation::all_reduce, 4, 8 * gib, 10).grade == Grade::none);
    CHECK(grade(h100, Operation::all_reduce, 16, 8 * gib, 10).grade == Grade::none);
    CHECK(grade(h100, Operation::all_reduce, 8, gib / 2, 10).grade == Grade::none);
    CHECK(grade(h100, Operation::all_to_all, 8, 8 * gib, 10).grade == Grade::none);
    for (const auto* other :
         {"NVIDIA H100 PCIe", "NVIDIA H200 NVL", "NVIDIA A100-PCIE-40GB", "Tesla V100-SXM2-32GB", ""}) {
        CHECK(grade(other, Operation::all_reduce, 8, 8 * gib, 10).grade == Grade::none);
    }
}

} // namespace known_good_test
