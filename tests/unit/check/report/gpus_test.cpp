#include "check/report/gpus.hpp"

#include <doctest/doctest.h>

namespace gpus_test {

using namespace dockdist;

TEST_CASE("nvidia-smi's lines become GPUs; what the driver does not tell stays empty") {
    const auto gpus =
        parse_gpus("0, GPU-aa, NVIDIA H100 80GB HBM3, 1, 81559, 0, 31, 69.52, 550.127.08\n"
                   "1, GPU-bb, NVIDIA H100 80GB HBM3, 5, 81559, [N/A], [Not Supported], [N/A], 550.127.08\n");
    REQUIRE(gpus.has_value());
    REQUIRE(gpus->size() == 2);
    CHECK(gpus->at(0).name == "NVIDIA H100 80GB HBM3");
    CHECK(gpus->at(0).power_w == 69.52);
    CHECK(gpus->at(1).index == 1);
    CHECK_FALSE(gpus->at(1).utilization_percent.has_value());
    CHECK(gpus->at(1).driver == "550.127.08");
}

TEST_CASE("a line of another shape is an error, not a GPU") {
    CHECK(parse_gpus("Failed to initialize NVML: Unknown Error\n").has_error());
    CHECK(parse_gpus("0, GPU-aa\n").has_error());
    CHECK(parse_gpus("").value().empty());
}

TEST_CASE("the CUDA version is read from the table's header") {
    CHECK(parse_cuda_version(
              "| NVIDIA-SMI 550.127.08    Driver Version: 550.127.08   CUDA Version: 12.4     |\n") ==
          "12.4");
    CHECK(parse_cuda_version("nothing").empty());
}

} // namespace gpus_test
