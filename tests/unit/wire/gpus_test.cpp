#include "shared/wire/gpus.hpp"
#include "shared/wire/json_reader.hpp"

#include <doctest/doctest.h>

namespace gpus_test {

using namespace dockdist;
using namespace dockdist::wire;

namespace {

const GpuUnit unit{.id = "GPU-1", .index = 1, .name = "Model"};
const GpuParty party{.cluster = "c", .node = "n", .job = "j", .owner = "me@here", .age_s = 17};

} // namespace

TEST_CASE("a report of GPUs is read as it was written, and what is not known stays away") {
    const GpuReport report{.driver = "550.1",
                           .units = {{.unit = unit,
                                      .memory_used_mib = 12.5,
                                      .power_w = 70,
                                      .problem = "it has vanished",
                                      .hold = GpuHold{.unit = unit, .by = party}},
                                     {.unit = {.id = "GPU-2", .index = 2}, .hold = GpuHold{.outside = true}}},
                           .line = {{.who = party, .wanted = 2, .priority = -1}},
                           .topology = "\tGPU0\n",
                           .problem = "nvidia-smi is slow"};
    const auto line = gpu_report_line(report);
    CHECK(line.ends_with("}\n"));
    CHECK(line.find("utilization") == std::string::npos);
    const auto read = parse_gpu_report(line);
    REQUIRE(read.has_value());
    CHECK(*read == report);
    CHECK(*parse_gpu_report("{}") == GpuReport{});
}

TEST_CASE("names without end are cut, and the rest of the report counts") {
    auto endless = party;
    endless.owner = std::string(100'000, 'x');
    endless.job = std::string(100'000, 'y');
    const auto read = parse_gpu_report(gpu_report_line({.line = {{.who = endless, .wanted = 2}}}));
    REQUIRE(read.has_value());
    CHECK(read->line[0].who.owner.size() == 512);
    CHECK(read->line[0].who.job.size() == 512);
    CHECK(read->line[0].who.node == party.node);
    endless.owner = "x";
    for (int i = 0; i < 500; ++i) {
        endless.owner += "é"; // two bytes, of which none stands alone
    }
    CHECK(parse_gpu_report(gpu_report_line({.line = {{.who = endless}}}))->line[0].who.owner.size() == 511);
    CHECK(read->line[0].wanted == 2);
}

TEST_CASE("a report of another shape is refused, and says where") {
    CHECK_FALSE(parse_gpu_report("").has_value());
    CHECK_FALSE(parse_gpu_report("[]").has_value());
    const auto wrong = parse_gpu_report(R"({"units":[{"unit":{"id":"a"},"power_w":"hot"}]})");
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().kind == ErrorKind::protocol);
    CHECK(wrong.error().message.find("power_w") != std::string::npos);
    std::string many;
    for (int i = 0; i < 5000; ++i) {
        many += R"({"unit":{"id":"a"}},)";
    }
    many.pop_back();
    CHECK_FALSE(parse_gpu_report("{\"units\":[" + many + "]}").has_value());
}

} // namespace gpus_test
