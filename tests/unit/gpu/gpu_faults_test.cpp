#include "shared/gpu/gpu_faults.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace gpu_faults_test {

using namespace dockdist;

namespace {

const wire::GpuUnit h200{.id = "GPU-00000001-0000-4000-8000-000000000001", .index = 3, .name = "NVIDIA H200"};

// What `nvidia-smi -q` has said of a real GPU, with the driver's recovery action.
std::string log_with(const std::string& action) {
    std::ifstream stream(std::string(DOCKDIST_SOURCE_DIR) +
                         "/tests/gpu_day/recordings/h200/smi/idle/log.txt");
    REQUIRE(stream.good());
    std::string text{std::istreambuf_iterator<char>(stream), {}};
    const std::string key = "GPU Recovery Action                                : ";
    const auto at = text.find(key + "None");
    REQUIRE(at != std::string::npos);
    return text.replace(at + key.size(), 4, action);
}

} // namespace

TEST_CASE("a GPU that is well has no fault, nor has one of an old driver, which knows no actions") {
    CHECK(parse_gpu_faults(log_with("None"), {h200}).empty());
    CHECK(parse_gpu_faults(log_with("N/A"), {h200}).empty());
    CHECK(parse_gpu_faults("GPU 0\n    GPU UUID : " + h200.id + "\n", {h200}).empty());
}

TEST_CASE("what the driver asks for, rows that cannot be remapped, and a GPU that is not shown are faults") {
    using Faults = std::vector<std::string>;
    CHECK(parse_gpu_faults(log_with("Reboot"), {h200}) ==
          Faults{"GPU 3 is faulty: the driver asks for \"Reboot\""});
    CHECK(parse_gpu_faults("GPU UUID : " + h200.id + "\n   Remapping Failure Occurred : Yes\n", {h200}) ==
          Faults{"GPU 3 is faulty: rows of its memory cannot be remapped"});
    CHECK(parse_gpu_faults(log_with("None"), {{.id = "GPU-2", .index = 1}, h200}) ==
          Faults{"GPU 1 has gone: nvidia-smi does not show it"});
}

TEST_CASE("of GPUs that are not the job's, of instances, slots and no answer nothing is said") {
    CHECK(parse_gpu_faults(log_with("Reset"), {}).empty());
    CHECK(parse_gpu_faults(log_with("Reset"), {{.id = "MIG-1"}, {.id = "slot/c/n/0"}}).empty());
    CHECK(parse_gpu_faults("", {h200}).empty());
    CHECK(parse_gpu_faults("Failed to initialize NVML: Unknown Error\n", {h200}).empty());
}

TEST_CASE("the log is asked for of all GPUs") {
    CHECK(gpu_faults_command() == std::vector<std::string>{"nvidia-smi", "-q"});
}

} // namespace gpu_faults_test
