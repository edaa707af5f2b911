#include "client/engine/engine_error.hpp"
#include "client/engine/json_decode.hpp"

#include <doctest/doctest.h>

namespace cdi_devices_test {

using namespace dockdist;

TEST_CASE("of an engine's devices so many are kept, and of names those that can be read") {
    std::string many = R"({"DiscoveredDevices":[{"Source":"cdi","ID":")" + std::string(300, 'x') + R"("})";
    for (int i = 0; i < 5000; ++i) {
        many += R"(,{"Source":"cdi","ID":"x.com/y=z"})";
    }
    const auto info = decode_info(many + "]}", {1, 50});
    REQUIRE(info.has_value());
    CHECK(info->cdi_devices.size() == 4096);
    CHECK(info->cdi_devices.front() == "x.com/y=z");
}

TEST_CASE("a node whose host has lost the IMEX channel, and what to do") {
    const auto error =
        engine_error({500,
                      {},
                      R"({"message":"error gathering device information while adding custom device )"
                      R"(\"/dev/nvidia-caps-imex-channels/channel0\": no such file or directory"})"},
                     {.what = "start x"});
    CHECK(error.hint.starts_with("that host has lost its IMEX channel"));
}

} // namespace cdi_devices_test
