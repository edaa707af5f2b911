#include "node/system/gpus.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/gpu/units.hpp"

#include <doctest/doctest.h>

namespace gpus_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

constexpr const char* first = "GPU-000000000000000a";
constexpr const char* both = "GPU-000000000000000a,GPU-000000000000000b";

Environment with(std::initializer_list<std::pair<const char*, const char*>> variables) {
    Environment environment;
    for (const auto& [name, value] : variables) {
        environment.set(name, value);
    }
    return environment;
}

} // namespace

TEST_CASE("NVIDIA's GPUs are chosen by CUDA's variable alone") {
    CHECK_FALSE(visible_to({}).has_value());
    CHECK(visible_to(with({{cuda_devices_variable, "1"}})) == "1");
    // As a file for hosts of both vendors may set them.
    const auto mixed = with({{hip_devices_variable, "0"}, {rocm_devices_variable, "0"}});
    CHECK_FALSE(visible_to(mixed).has_value());
    CHECK(choosing_variable(mixed) == cuda_devices_variable);
}

TEST_CASE("AMD's by HIP's or CUDA's, among those of ROCm's") {
    const auto asked = amd_asked_variable;
    CHECK_FALSE(visible_to(with({{asked, "1"}})).has_value());
    CHECK(visible_to(with({{asked, "1"}, {rocm_devices_variable, "1"}})) == "1");
    CHECK(visible_to(with({{asked, "1"}, {hip_devices_variable, "1"}})) == "1");
    CHECK(visible_to(with({{rocm_devices_variable, both}})) == both);
    CHECK(visible_to(with({{rocm_devices_variable, both}, {cuda_devices_variable, "0"}})) == first);
    const auto all =
        with({{rocm_devices_variable, both}, {hip_devices_variable, "0"}, {cuda_devices_variable, "1"}});
    CHECK(visible_to(all) == first);
    CHECK(choosing_variable(all) == hip_devices_variable);
    CHECK(visible_to(with({{rocm_devices_variable, both}, {cuda_devices_variable, ""}})) == "");
    CHECK(visible_to(with({{rocm_devices_variable, both}, {hip_devices_variable, ""}})) == both);
}

TEST_CASE("what is shown is what is seen, whatever chose before") {
    auto nvidia = with({{cuda_devices_variable, "0,1"}});
    show_gpus(nvidia, "GPU-8f0c");
    CHECK(nvidia.entries() == std::vector<std::string>{"CUDA_VISIBLE_DEVICES=GPU-8f0c"});
    auto amd =
        with({{rocm_devices_variable, both}, {hip_devices_variable, "1"}, {cuda_devices_variable, "1"}});
    show_gpus(amd, first);
    CHECK(amd.entries() == std::vector<std::string>{std::string("ROCR_VISIBLE_DEVICES=") + first});
    auto by_index = with({{amd_asked_variable, "1"}, {hip_devices_variable, "1"}});
    show_gpus(by_index, "1");
    CHECK(visible_to(by_index) == "1");
    CHECK(choosing_variable(by_index) == rocm_devices_variable);
    Environment fresh;
    show_gpus(fresh, both);
    CHECK(visible_to(fresh) == both);
}

} // namespace gpus_test
