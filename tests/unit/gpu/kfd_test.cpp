#include "shared/gpu/kfd.hpp"

#include <doctest/doctest.h>

namespace kfd_test {

using namespace dockdist;

namespace {

// As Linux 6.8 has it for an MI300X, without most of its lines.
constexpr const char* mi300x = "cpu_cores_count 0\nsimd_count 1216\nmem_banks_count 1\nio_links_count 8\n"
                               "gfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\nlocation_id 1280\n"
                               "domain 0\ndrm_render_minor 128\nunique_id 10683493184402157354\n";

} // namespace

TEST_CASE("a GPU of AMD's by what its driver tells: the name that ROCm knows it by, and its device") {
    const auto gpu = parse_kfd(mi300x);
    REQUIRE(gpu.has_value());
    CHECK(gpu->uuid == "GPU-944364729898ef2a");
    CHECK(gpu->kind == "gfx942");
    CHECK(gpu->render_minor == 128);
    CHECK(parse_kfd("simd_count 440\nvendor_id 4098\ndrm_render_minor 129\ngfx_target_version "
                    "90010\nunique_id 1\n") ==
          KfdGpu{.uuid = "GPU-0000000000000001", .kind = "gfx90a", .render_minor = 129});
    CHECK(parse_kfd("simd_count 96\nvendor_id 4098\ndrm_render_minor 128\ngfx_target_version "
                    "110000\nunique_id 0\n") == KfdGpu{.kind = "gfx1100", .render_minor = 128});
}

TEST_CASE("what is no GPU of AMD's, or cannot be opened, is none") {
    for (const auto* text :
         {"", "cpu_cores_count 64\nsimd_count 0\nvendor_id 4098\ndrm_render_minor 0\n",
          "simd_count 10\nvendor_id 4318\ndrm_render_minor 128\n",
          "simd_count 10\nvendor_id 4098\ndrm_render_minor 99999999999\n",
          "simd_count 10\nvendor_id 4098\ndrm_render_minor 0\n", "simd_count x\nvendor_id"}) {
        CHECK_FALSE(parse_kfd(text).has_value());
    }
}

TEST_CASE("errors that could not be corrected") {
    CHECK(parse_ras("ue: 3\nce: 12\n") == 3);
    CHECK_FALSE(parse_ras("ce: 12\n").has_value());
    CHECK_FALSE(parse_ras("ue: x\n").has_value());
}

TEST_CASE("AMD's UUIDs go into ROCm's variable, all else into CUDA's") {
    for (const auto* amd : {"GPU-944364729898ef2a", "GPU-944331F30A41E72A,GPU-0000000000000001"}) {
        CHECK(devices_variable_for(amd) == std::string_view("ROCR_VISIBLE_DEVICES"));
    }
    for (const auto* other : {"", "0,1", "GPU-5cdcc509-274f-ad4b-3a72-bb9c3516e6da", "MIG-944331f30a41e72a",
                              "GPU-944331f30a41e72", "GPU-944331f30a41e72g"}) {
        CHECK(devices_variable_for(other) == std::string_view("CUDA_VISIBLE_DEVICES"));
    }
}

TEST_CASE("what one variable shows of what another one shows") {
    CHECK(devices_within("GPU-a,GPU-b,GPU-c", "2,0") == "GPU-c,GPU-a");
    CHECK(devices_within("GPU-a,GPU-b", " 1, 0") == "GPU-b,GPU-a");
    CHECK(devices_within("GPU-a,GPU-b", "1,2,0") == "GPU-b");
    CHECK(devices_within("GPU-a,GPU-b", "0,-1,1") == "GPU-a");
    CHECK(devices_within("GPU-a,GPU-b", "GPU-b") == "GPU-b");
    CHECK(devices_within("GPU-a", "").empty());
}

} // namespace kfd_test
