#include "shared/wire/gpus.hpp"
#include "shared/wire/json_reader.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace gpu_ask_test {

using namespace dockdist::wire;

namespace {

GpuAsk ask_of(const nlohmann::json& object) {
    ObjectReader reader(object, "the ask");
    GpuAsk ask;
    read_fields(reader, ask);
    CHECK_FALSE(reader.failed());
    return ask;
}

} // namespace

TEST_CASE("what nodes of an earlier dockdist hold goes with the ask, and an ask without it holds none") {
    const GpuAsk ask{
        .count = 2,
        .in_use_mib = 1024,
        .taken = {{.unit = {.id = "GPU-1", .index = 1, .name = "H100"},
                   .by = {.cluster = "old", .node = "node-0", .job = "train", .owner = "ada@desk"}}}};
    CHECK(ask_of(nlohmann::json(ask)) == ask);
    CHECK(ask_of(nlohmann::json::object()).taken.empty());
}

TEST_CASE("a look is one, and to an older node, which does not know of it, an ask that takes nothing") {
    const GpuAsk ask{.look = true, .count = 2};
    auto object = nlohmann::json(ask);
    CHECK(ask_of(object) == ask);
    object.erase("look");
    CHECK(ask_of(object) == GpuAsk{.share = true, .count = 2});
    CHECK_FALSE(nlohmann::json(GpuAsk{.count = 2}).contains("look"));
}

TEST_CASE("a unit that is held without a name is an error") {
    nlohmann::json object = GpuAsk{.taken = {{.unit = {.id = "GPU-1"}}}};
    object["taken"][0]["unit"].erase("id");
    ObjectReader reader(object, "the ask");
    GpuAsk ask;
    read_fields(reader, ask);
    CHECK(reader.failed());
}

} // namespace gpu_ask_test
