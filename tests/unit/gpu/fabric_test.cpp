#include "shared/gpu/fabric.hpp"

#include <doctest/doctest.h>

namespace fabric_test {

using namespace dockdist;

namespace {

std::string log_with(const std::string& fabric) {
    return "\n==============NVSMI LOG==============\n\nGPU 00000008:01:00.0\n"
           "    Product Name                          : NVIDIA GB200\n    ECC Mode\n"
           "        Current                           : Enabled\n    State                                 : "
           "x\n" +
           fabric +
           "    Processes                             : None\n    State                                 : "
           "y\n";
}

} // namespace

TEST_CASE("the fabric of a rack, as nvidia-smi -q has it") {
    const auto fabric = parse_fabric(
        log_with("    Fabric\n"
                 "        State                             : Completed\n"
                 "        Status                            : Success\n"
                 "        CliqueId                          : 32766\n"
                 "        ClusterUUID                       : 67b8e05c-a0a6-4a3e-9b8d-2f0f5b7d9f11\n"
                 "        Health\n"
                 "            Bandwidth                     : Full\n"
                 "            State                         : z\n"));
    CHECK(fabric == GpuFabric{.state = "Completed",
                              .status = "Success",
                              .clique = "32766",
                              .cluster = "67b8e05c-a0a6-4a3e-9b8d-2f0f5b7d9f11"});
}

TEST_CASE("switches within a host lead to no other; a fabric that is on its way has no status yet") {
    const auto within =
        parse_fabric(log_with("    Fabric\n        State     : Completed\n        Status    : Success\n"
                              "        CliqueId  : 0\n"
                              "        ClusterUUID : 00000000-0000-0000-0000-000000000000\n"));
    REQUIRE(within.has_value());
    CHECK(within->cluster.empty());
    CHECK(parse_fabric(log_with("    Fabric\n        State  : In Progress\n        Status : N/A\n")) ==
          GpuFabric{.state = "In Progress"});
}

TEST_CASE("no fabric") {
    for (const auto* text : {"", "    Fabric\n        State : N/A\n        Status : N/A\n", "    Fabric\n",
                             "    Fabric\n        State : Not Supported\n", "    Fabric : N/A\n"}) {
        CHECK_FALSE(parse_fabric(log_with(text)).has_value());
    }
    CHECK_FALSE(parse_fabric("").has_value());
}

} // namespace fabric_test
