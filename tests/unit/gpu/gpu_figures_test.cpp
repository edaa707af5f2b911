#include "shared/gpu/gpu_figures.hpp"

#include <doctest/doctest.h>

namespace gpu_figures_test {

using namespace dockdist;

TEST_CASE("a line of nvidia-smi is a GPU with its figures") {
    const auto line =
        parse_gpu_figures("3, GPU-d, NVIDIA H100 80GB HBM3, 550.127.08, Disabled, 81559, 700.00, 1980, "
                          "100, 72345, 612.34, 61, 1755, 0x0000000000000024\r");
    REQUIRE(line);
    CHECK(line->gpu == wire::GpuInventory{.index = 3,
                                          .uuid = "GPU-d",
                                          .name = "NVIDIA H100 80GB HBM3",
                                          .memory_bytes = 81559ULL << 20U,
                                          .power_limit_w = 700,
                                          .most_clock_mhz = 1980});
    CHECK(line->driver == "550.127.08");
    CHECK_FALSE(line->mig);
    CHECK(line->figures == wire::GpuSample{.utilization_percent = 100,
                                           .memory_bytes = 72345ULL << 20U,
                                           .power_w = 612.34,
                                           .temperature_c = 61,
                                           .clock_mhz = 1755,
                                           .throttle = 0x24});
}

TEST_CASE("what the driver does not tell is absent") {
    const auto line = parse_gpu_figures("0, [N/A], X, 470.1, Enabled, [N/A], [Not Supported], [N/A], [N/A], "
                                        "[Insufficient Permissions], nan, -1, [Unknown Error], Active");
    REQUIRE(line);
    CHECK(line->gpu == wire::GpuInventory{.index = 0, .name = "X"});
    CHECK(line->mig);
    CHECK(line->figures == wire::GpuSample{});
}

TEST_CASE("other lines are messages") {
    for (const auto* line : {"", "No devices were found", "-1, a, b, c, d, 1, 1, 1, 1, 1, 1, 1, 1, 0x0",
                             "Field \"clocks_event_reasons.active\" is not a valid field to query."}) {
        CHECK_FALSE(parse_gpu_figures(line));
    }
}

TEST_CASE("one long-running call asks for all, by the name that the driver has for its reasons") {
    const auto argv = gpu_figures_command(1000, SmiQuestion::figures);
    CHECK(argv[1].ends_with(",clocks_event_reasons.active"));
    CHECK(argv[3] == "-lms");
    CHECK(argv[4] == "1000");
    CHECK(
        gpu_figures_command(1000, SmiQuestion::old_figures)[1].ends_with(",clocks_throttle_reasons.active"));
}

} // namespace gpu_figures_test
