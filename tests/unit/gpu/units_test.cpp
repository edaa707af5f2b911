#include "shared/gpu/units.hpp"

#include <doctest/doctest.h>

namespace units_test {

using namespace dockdist;
using Names = std::vector<std::string>;

namespace {

Gpu gpu(int index) {
    return {.index = index, .uuid = "GPU-" + std::to_string(index) + "000", .name = "Model"};
}

SeenGpus split_in_the_middle() {
    SeenGpus seen{.gpus = {gpu(0), gpu(1), gpu(2)}};
    seen.gpus[1].mig = true;
    seen.instances = {{.uuid = "MIG-a", .profile = "1g.10gb", .gpu = 1, .index = 0},
                      {.uuid = "MIG-b", .profile = "3g.40gb", .gpu = 1, .index = 1}};
    return seen;
}

Names ids(const std::vector<wire::GpuUnit>& units) {
    Names all;
    for (const auto& unit : units) {
        all.push_back(unit.id);
    }
    return all;
}

Names named(const char* text, const SeenGpus& seen) {
    return ids(named_units(text, units_of(seen)).units);
}

} // namespace

TEST_CASE("the instances of a split GPU are units in its place, and one that cannot be named is none") {
    auto seen = split_in_the_middle();
    const auto units = units_of(seen);
    CHECK(ids(units) == Names{"GPU-0000", "MIG-a", "MIG-b", "GPU-2000"});
    CHECK(units[2].index == 1);
    CHECK(units[2].name == "Model MIG 3g.40gb");
    seen.gpus[0].uuid.clear();
    seen.instances.clear();
    CHECK(ids(units_of(seen)) == Names{"GPU-2000"});
}

TEST_CASE("slots are units of their node alone") {
    CHECK(ids(slot_units("c", "n", 2)) == Names{"slot:c/n/0", "slot:c/n/1"});
    CHECK(visible_devices(slot_units("c", "n", 1)).empty());
}

TEST_CASE("what has memory errors, or has vanished, is told in its place") {
    SeenGpus seen{.gpus = {gpu(0), gpu(2), gpu(3)}};
    seen.gpus[0].uncorrected = 0;
    seen.gpus[0].memory_used_mib = 3;
    seen.gpus[1].uncorrected = 1;
    const auto states = unit_states(units_of({.gpus = {gpu(0), gpu(1), gpu(2)}}), seen);
    REQUIRE(states.size() == 4);
    CHECK(states[0].problem.empty());
    CHECK(states[0].used_mib == 3);
    CHECK(states[1].problem ==
          "GPU 1 was there when the node joined, and nvidia-smi does not list it any more");
    CHECK(states[2].problem == "GPU 2 has 1 uncorrected memory error");
    CHECK(states[3].unit.index == 3); // has come since
}

TEST_CASE("CUDA_VISIBLE_DEVICES is read as CUDA reads it") {
    const auto seen = split_in_the_middle();
    CHECK(named("2,0", seen) == Names{"GPU-2000", "GPU-0000"});
    CHECK(named(" GPU-0 , GPU-2", seen) == Names{"GPU-0000", "GPU-2000"});
    CHECK(named("0,GPU-2", seen) == Names{"GPU-0000"}); // of one kind
    CHECK(named("GPU-0,2", seen) == Names{"GPU-0000"});
    CHECK(named("MIG-b", seen) == Names{"MIG-b"});
    CHECK(named("", seen).empty());
    CHECK(named("-1", seen).empty());
    CHECK(named("0,-1,2", seen) == Names{"GPU-0000"});
    for (const auto* twice : {"0,0", "GPU-0000,GPU-0000", "GPU-0000,GPU-0", "0,2,0"}) {
        CHECK(named(twice, seen).empty()); // as an H100 and an H200 with driver 580 answered
    }
    CHECK(named_units("0,2,0,7", units_of(seen)).repeated == "0");
    CHECK(named("0,7,0", seen) == Names{"GPU-0000"}); // the rest is not read
    CHECK(named("0,-1,0", seen) == Names{"GPU-0000"});
    CHECK(named("GPU-", seen).empty()); // could be either
    CHECK(named("NoDevFiles", seen).empty());
    CHECK(named_units("0,7", units_of(seen)).unknown == "7");
    CHECK(named_units("0,-1", units_of(seen)).unknown.empty());
    CHECK(named_units("", units_of(seen)).unknown.empty());
}

TEST_CASE("whole GPUs are chosen by their links, instances and slots by their order") {
    const auto topology = parse_topology("\tGPU0\tGPU1\tGPU2\nGPU0\t X \tSYS\tSYS\nGPU1\tSYS\t X \tNV4\n"
                                         "GPU2\tSYS\tNV4\t X \n");
    const auto whole = choose_units(2, units_of({.gpus = {gpu(0), gpu(1), gpu(2)}}), topology);
    CHECK(ids(whole.units) == Names{"GPU-1000", "GPU-2000"});
    CHECK(whole.together == "NVLink");
    CHECK(visible_devices(whole.units) == "GPU-1000,GPU-2000");
    const auto mixed = choose_units(2, units_of(split_in_the_middle()), topology);
    CHECK(ids(mixed.units) == Names{"GPU-0000", "MIG-a"});
    CHECK(mixed.together.empty());
    CHECK(ids(choose_units(1, slot_units("c", "n", 2), {}).units) == Names{"slot:c/n/0"});
}

} // namespace units_test
