#include "shared/gpu/gpu.hpp"

#include <doctest/doctest.h>

namespace gpu_test {

using namespace dockdist;

TEST_CASE("nvidia-smi's lines become GPUs; what the driver does not tell stays empty") {
    const auto gpus =
        parse_gpus("0, GPU-aa, NVIDIA H100 80GB HBM3, 1, 81559, 0, 31, 69.52, 550.127.08, Disabled, 2\n"
                   "1, GPU-bb, NVIDIA H100 80GB HBM3, 5, 81559, [N/A], [Not Supported], [N/A], 550.127.08, "
                   "[N/A], [N/A]\n");
    REQUIRE(gpus.has_value());
    REQUIRE(gpus->size() == 2);
    CHECK(gpus->at(0).name == "NVIDIA H100 80GB HBM3");
    CHECK(gpus->at(0).power_w == 69.52);
    CHECK(gpus->at(0).uncorrected == 2);
    CHECK_FALSE(gpus->at(0).mig);
    CHECK(gpus->at(1).index == 1);
    CHECK_FALSE(gpus->at(1).utilization_percent.has_value());
    CHECK_FALSE(gpus->at(1).uncorrected.has_value());
    CHECK(gpus->at(1).driver == "550.127.08");
}

TEST_CASE("a split GPU in a container that has some of its instances") {
    const auto gpus =
        parse_gpus("0, GPU-aa, NVIDIA A100-SXM4-80GB, [Insufficient Permissions], [Insufficient "
                   "Permissions], [N/A], 47, 62.11, 535.161.08, Enabled, 0\n");
    REQUIRE(gpus.has_value());
    REQUIRE(gpus->size() == 1);
    CHECK(gpus->at(0).mig);
    CHECK_FALSE(gpus->at(0).memory_used_mib.has_value());
    CHECK(gpus->at(0).temperature_c == 47);
}

TEST_CASE("a GPU that has fallen off the bus is told, and the others are there") {
    const char* const output = "Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error\n"
                               "1, GPU-bb, NVIDIA H100, 5, 81559, 0, 31, 69, 550.127.08, Disabled, 0\n";
    const auto gpus = parse_gpus(output);
    REQUIRE(gpus.has_value());
    REQUIRE(gpus->size() == 1);
    CHECK(gpus->at(0).uuid == "GPU-bb");
    CHECK(
        lost_gpus(output) ==
        std::vector<std::string>{"Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error"});
    CHECK(lost_gpus("No devices were found\n").empty());
}

TEST_CASE("a warning beside GPUs makes none of them useless") {
    const std::string output =
        "0, GPU-aa, NVIDIA A100-SXM4-80GB, 5, 81920, 0, 31, 69, 550.127.08, Disabled, 0\n"
        "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n"
        "1, GPU-bb, NVIDIA A100-SXM4-80GB, 5, 81920, 0, 31, 69, 550.127.08, Disabled, 0\n"
        "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n";
    REQUIRE(parse_gpus(output).has_value());
    CHECK(parse_gpus(output)->size() == 2);
    CHECK(smi_warnings(output) ==
          std::vector<std::string>{"WARNING: infoROM is corrupted at gpu 0000:3B:00.0"});
    CHECK(smi_warnings("Unable to determine the device handle for GPU0: Unknown Error\n\n").empty());
    CHECK(parse_gpus(output + "2, GPU-cc, half").has_error());
}

TEST_CASE("a line of another shape is an error, not a GPU") {
    CHECK(parse_gpus("Failed to initialize NVML: Unknown Error\n").has_error());
    CHECK(parse_gpus("0, GPU-aa\n").has_error());
    CHECK(parse_gpus("-1, GPU-aa, x, 1, 2, 3, 4, 5, 6, Disabled, 0\n").has_error());
    CHECK(parse_gpus("").value().empty());
}

TEST_CASE("what is no number of this world is not told") {
    const auto gpus = parse_gpus("0, [Unknown Error], x, nan, inf, 1e999, 0x10, 7 W, 550, Disabled, 1.5\n");
    REQUIRE(gpus.has_value());
    const auto& gpu = gpus->at(0);
    CHECK(gpu.uuid.empty());
    CHECK_FALSE(gpu.memory_used_mib.has_value());
    CHECK_FALSE(gpu.memory_total_mib.has_value());
    CHECK_FALSE(gpu.utilization_percent.has_value());
    CHECK_FALSE(gpu.temperature_c.has_value());
    CHECK_FALSE(gpu.power_w.has_value());
    CHECK_FALSE(gpu.uncorrected.has_value());
}

TEST_CASE("MIG instances are read with their GPU, whichever driver lists them") {
    const char* const listing =
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-c7384736-a75d-5afc-978f-d2f1294409fd)\n"
        "  MIG 1g.10gb+me  Device  1: (UUID: MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d)\n"
        "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-bb)\n"
        "GPU 2: A100-SXM4-40GB (UUID: GPU-cc)\n"
        "  MIG 1c.3g.20gb Device 0: (UUID: MIG-GPU-cc/1/0)\n";
    CHECK(parse_mig(listing) ==
          std::vector<MigInstance>{
              {.uuid = "MIG-c7384736-a75d-5afc-978f-d2f1294409fd", .profile = "3g.40gb"},
              {.uuid = "MIG-a28ad590-3fda-56dd-84fc-0a0b96edc58d", .profile = "1g.10gb+me", .index = 1},
              {.uuid = "MIG-GPU-cc/1/0", .profile = "1c.3g.20gb", .gpu = 2}});
    CHECK(count_listed_gpus(listing) == 4);
    CHECK(parse_mig("  MIG 3g.40gb     Device  0: (UUID: MIG-of-no-gpu)\nMIG\n").empty());
    CHECK(
        parse_mig("GPU 0: x\n  MIG 3g.40gb Device x: (UUID: MIG-1)\n  MIG 1g Device 1: (UUID: )\n").empty());
}

TEST_CASE("GPUs are counted as nvidia-smi lists them, a split one by its instances") {
    CHECK(count_listed_gpus("GPU 0: NVIDIA H100 (UUID: GPU-1)\n  MIG 1g.10gb Device 0: (UUID: MIG-1)\n  MIG "
                            "1g.10gb Device 1: (UUID: MIG-2)\nGPU 1: x\n") == 3);
    CHECK(count_listed_gpus("No devices found.\n") == 0);
    CHECK(count_listed_gpus("GPUs are none\nGPU x: y\n") == 0);
}

TEST_CASE("the CUDA version is read from the table's header") {
    CHECK(parse_cuda_version(
              "| NVIDIA-SMI 550.127.08    Driver Version: 550.127.08   CUDA Version: 12.4     |\n") ==
          "12.4");
    CHECK(parse_cuda_version("nothing").empty());
}

} // namespace gpu_test
