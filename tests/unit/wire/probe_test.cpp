#include "shared/wire/probe.hpp"

#include <doctest/doctest.h>

namespace probe_test {

using namespace dockdist::wire;
using nlohmann::json;

TEST_CASE("lines of probes survive the way") {
    const auto line = parse_probe_message(probe_line(3, json{{"rank", 11}}));
    REQUIRE(line.has_value());
    CHECK(line->local_rank == 3);
    CHECK(*line->line == json{{"rank", 11}});
    const auto end =
        parse_probe_message(probe_end_line(1, {.code = 137, .signal = 9, .message = "m", .hint = "h"}));
    REQUIRE(end.has_value());
    CHECK_FALSE(end->line);
    CHECK(end->end->code == 137);
    CHECK(end->end->signal == 9);
    CHECK(end->end->message == "m");
    CHECK(end->end->hint == "h");
    const auto rdma = parse_probe_message(rdma_line({"mlx5_0", "mlx5_1"}));
    REQUIRE(rdma.has_value());
    CHECK(*rdma->rdma == std::vector<std::string>{"mlx5_0", "mlx5_1"});
}

TEST_CASE("what is no line of a probe says why") {
    const auto refusal = [](const char* line) { return parse_probe_message(line).error().message; };
    CHECK(refusal("{}") == "a line of the probes: \"probe\" is missing");
    CHECK(refusal(R"({"probe":0})") == "a line of the probes: \"line\" or \"ended\" is missing");
    CHECK(refusal(R"({"probe":64,"line":{}})") == "a line of the probes: a local rank is from 0 to 63");
    CHECK(refusal(R"({"probe":-1,"line":{}})") == "a line of the probes: a local rank is from 0 to 63");
    for (const auto* line : {"", "[]", "nonsense", R"({"probe":"0","line":{}})", R"({"probe":0,"line":3})",
                             R"({"probe":0,"ended":{"code":"x"}})", R"({"probe":0,"ended":[]})",
                             R"({"rdma":"mlx5_0"})", R"({"rdma":[1]})"}) {
        CAPTURE(line);
        CHECK_FALSE(parse_probe_message(line).has_value());
    }
}

} // namespace probe_test
