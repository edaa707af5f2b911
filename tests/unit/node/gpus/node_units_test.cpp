#include "node/gpus/node_units.hpp"
#include "unit/node/gpus/shared_board.hpp"

namespace node_units_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

UnitState state(int index, double used = 0, const std::string& problem = "") {
    return {
        .unit = {.id = "GPU-" + std::to_string(index), .index = index}, .problem = problem, .used_mib = used};
}

BoardEntry holder(int index, const std::string& job) {
    return {.id = 7,
            .who = {.cluster = "c", .job = job},
            .since_ms = unix_ms() - 61'000,
            .units = {state(index).unit}};
}

} // namespace

TEST_CASE("what uses memory while nobody holds it is somebody's outside, before and after it was seen") {
    const SharedBoard host;
    const auto file = SharedBoard::open();
    NodeUnits units({.ask = {.count = 1, .in_use_mib = 100}});
    REQUIRE(units.see({state(0, 101), state(1, 100), state(2, 5000), state(3, 5000)}).has_value());
    const Board before{.entries = {holder(2, "went")}};
    const Board after{.entries = {holder(3, "came")}};
    units.see_use(before, after);
    const auto standing = units.stand({}, units.ticket(), file);
    CHECK(standing.fits);
    REQUIRE(standing.held.size() == 1);
    CHECK(standing.held[0].unit.index == 0);
    CHECK(standing.held[0].outside);
    CHECK(standing.held[0].by.job == "101 MiB in use");
    CHECK(standing.free.size() == 3);
}

TEST_CASE("that nothing but processes outside are in the way is told apart") {
    const SharedBoard host;
    const auto file = SharedBoard::open();
    NodeUnits units({.ask = {.count = 1}});
    REQUIRE(units.see({state(0, 5000)}).has_value());
    units.see_use({}, {});
    auto standing = units.stand({}, units.ticket(), file);
    CHECK_FALSE(standing.fits);
    CHECK(standing.fits_but_for_outside);
    standing = units.stand({.entries = {holder(0, "job")}}, units.ticket(), file);
    CHECK_FALSE(standing.fits_but_for_outside);
    REQUIRE(standing.held.size() == 1);
    CHECK_FALSE(standing.held[0].outside);
    CHECK(standing.held[0].by.age_s == 61);
}

TEST_CASE("units of older nodes' jobs, which no board knows, count as held") {
    const SharedBoard host;
    const auto file = SharedBoard::open();
    const wire::GpuHold old{.unit = state(1).unit, .by = {.cluster = "old", .job = "j", .age_s = 5}};
    NodeUnits units({.ask = {.count = 2, .in_use_mib = 100, .taken = {old}}});
    REQUIRE(units.see({state(0), state(1)}).has_value());
    const auto standing = units.stand({}, units.ticket(), file);
    CHECK_FALSE(standing.fits);
    REQUIRE(standing.held.size() == 1);
    CHECK((standing.held[0] == old));
}

TEST_CASE("a job that wants more than is sound is told what is not, and what would do") {
    NodeUnits units({.ask = {.count = wire::all_units}});
    const auto refused = units.see({state(0), state(1, 0, "GPU 1 is ill"), state(2, 0, "GPU 2 is gone")});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message ==
          "1 of the 3 GPUs that this job wants here can be given out: GPU 1 is ill and GPU 2 is gone");
    CHECK(refused.error().hint.starts_with("`--gpus 1` does with these; `--share`"));
    NodeUnits fewer({.ask = {.count = 1}});
    CHECK(fewer.see({state(0), state(1, 0, "GPU 1 is ill")}).has_value());
    CHECK(fewer.left_out() == std::vector<std::string>{"GPU 1 is ill"});
    CHECK(fewer.ticket().candidates == std::vector<std::string>{"GPU-0"});
}

TEST_CASE("more GPUs than the node has are refused at once; slots are only counted") {
    NodeUnits units({.ask = {.count = 3}});
    const auto refused = units.see({state(0), state(1)});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message == "3 GPUs are asked for, and this node has 2");
    NodeUnits slots({.ask = {.count = 3}});
    CHECK(slots.see({{.unit = slot_units("c", "n", 1).front()}}).has_value());
    CHECK(slots.wanted() == 1);
}

TEST_CASE("what the user names is meant, all of it, and what he names in vain is said") {
    NodeUnits units({.ask = {.count = 1}, .visible = "1,0,9"});
    REQUIRE(units.see({state(0), state(1), state(2)}).has_value());
    CHECK(units.wanted() == 2);
    CHECK(units.left_out() ==
          std::vector<std::string>{"CUDA_VISIBLE_DEVICES names 9, which this node does not have"});
    NodeUnits twice({.ask = {.count = 1}, .visible = "1,1"});
    REQUIRE(twice.see({state(0), state(1)}).has_value());
    CHECK(twice.wanted() == 0);
    CHECK(twice.left_out().at(0) == "CUDA_VISIBLE_DEVICES names a GPU twice (1), and CUDA shows none then");
    NodeUnits amd({.ask = {.count = 1}, .visible = "0,9", .variable = "HIP_VISIBLE_DEVICES"});
    REQUIRE(amd.see({state(0)}).has_value());
    CHECK(amd.left_out().at(0) == "HIP_VISIBLE_DEVICES names 9, which this node does not have");
    CHECK_FALSE(wants_units({.visible = ""}));
    CHECK_FALSE(wants_units({.visible = "-1"}));
    CHECK_FALSE(wants_units({.ask = {.share = true}}));
    CHECK(wants_units({}));
}

} // namespace node_units_test
