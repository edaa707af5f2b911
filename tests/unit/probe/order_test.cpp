#include "fakes/show.hpp"
#include "probe/order.hpp"

#include <doctest/doctest.h>

#include <string>

namespace order_test {

using namespace dockdist;
using namespace dockdist::probe;

namespace {

std::string refusal(const std::string& line) {
    const auto order = parse_order(line);
    REQUIRE_MESSAGE(!order, line);
    CHECK(exit_code(order.error()) == 2);
    return order.error().message;
}

} // namespace

TEST_CASE("an order with what must be there has everything else by default") {
    const auto order = parse_order(R"({"rank":1,"world_size":4,"deadline_ms":5000})");
    REQUIRE(order);
    CHECK(order->rank == 1);
    CHECK(order->world_size == 4);
    CHECK(order->device == 0);
    CHECK(order->sizes.front() == 1024);
    CHECK(order->sizes.size() == 12); // 1 KiB, 4 KiB, … 4 GiB; eight is no power of four times that
    CHECK(order->operations.size() == 6);
    CHECK(order->types.size() == 2);
    CHECK_FALSE(order->id);
}

TEST_CASE("what it names is what is done") {
    const auto order = parse_order(
        R"({"rank":0,"world_size":1,"device":3,"deadline_ms":1,"operations":["broadcast"],"types":["bf16"],"sizes":[8,4],"iterations":7,"warm_up":0})");
    REQUIRE(order);
    CHECK(order->operations == std::vector{Operation::broadcast});
    CHECK(order->types == std::vector{DataType::bfloat16});
    CHECK(order->sizes == std::vector<std::uint64_t>{8, 4});
    CHECK(order->device == 3);
    CHECK(order->iterations == 7);
    CHECK(order->warm_up == 0);
}

TEST_CASE("orders that are none") {
    CHECK(refusal("") != "");
    CHECK(refusal("[]") != "");
    CHECK(refusal(R"({"rank":0,"world_size":1})").find("deadline_ms") != std::string::npos);
    CHECK(refusal(R"({"rank":-1,"world_size":1,"deadline_ms":1})").find("rank") != std::string::npos);
    CHECK(refusal(R"({"rank":1,"world_size":1,"deadline_ms":1})").find("rank") != std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":0})").find("deadline_ms") != std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":1,"sizes":[0]})").find("sizes") !=
          std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":1,"sizes":["1"]})").find("sizes") !=
          std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":1,"factor":1})").find("factor") !=
          std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":1,"types":["fp8"]})").find("fp8") !=
          std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":1,"operations":[1]})").find("operations") !=
          std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":1,"iterations":100000000})").find("iterations") !=
          std::string::npos);
    CHECK(refusal(R"({"rank":0,"world_size":1,"deadline_ms":1,"id":"short"})").find("128") !=
          std::string::npos);
}

TEST_CASE("an id, as text or as hex") {
    const std::string hex(256, 'f');
    const auto id = parse_id(R"({"id":{"hex":")" + hex + R"("}})");
    REQUIRE(id);
    CHECK(id->bytes[127] == '\xff');
    const auto text = parse_id(R"({"id":")" + std::string(128, 'x') + R"("})");
    REQUIRE(text);
    CHECK(text->bytes[0] == 'x');
    CHECK_FALSE(parse_id("{}"));
    CHECK_FALSE(parse_id(R"({"id":{"hex":"zz"}})"));
}

TEST_CASE("exit codes by the kind of error") {
    CHECK(exit_code({.kind = ErrorKind::not_found}) == 3);
    CHECK(exit_code({.kind = ErrorKind::node}) == 4);
    CHECK(exit_code({.kind = ErrorKind::timeout}) == 5);
    CHECK(exit_code({.kind = ErrorKind::interrupted}) == 6);
}

} // namespace order_test
