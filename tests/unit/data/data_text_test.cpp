#include "client/data/data_text.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace data_text_test {

using namespace dockdist;

namespace {

const DataSpec llama{.host = "a", .source = "/data/llama", .target = "/data/llama"};

ClusterSpec five_hosts() {
    ClusterSpec spec;
    for (const auto* name : {"a", "b", "c", "d", "e"}) {
        spec.hosts.push_back({.name = HostName(name)});
    }
    return spec;
}

DataState mixed() {
    DataState state{.files = 31, .bytes = 31 << 20};
    state.hosts = {{.host = 0, .is_origin = true},
                   {.host = 1, .node = {.plan = {.files = 31, .bytes = 31 << 20}}},
                   {.host = 2, .absent = true},
                   {.host = 3, .node = {.plan = {.files = 2, .bytes = 2048, .removed = 1}}},
                   {.host = 4, .node = {.shared_with = "d"}}};
    return state;
}

} // namespace

TEST_CASE("a table says what each host lacks") {
    CHECK(to_table({{llama, mixed()}}, five_hosts()) ==
          "TO           HOST  FILES      SIZE  STATE\n"
          "/data/llama  a        31  31.0 MiB  has it: it comes from there\n"
          "/data/llama  b        31  31.0 MiB  lacks all of 31 files (31.0 MiB)\n"
          "/data/llama  c        31  31.0 MiB  absent\n"
          "/data/llama  d        31  31.0 MiB  lacks 2 files (2.0 KiB), has 1 that is not there\n"
          "/data/llama  e        31  31.0 MiB  shares that of d\n");
    CHECK_FALSE(mixed().same_everywhere());
    const auto json = to_json(llama, mixed(), five_hosts(), DataWork::look);
    std::vector<std::string> states;
    for (const auto& host : json["hosts"]) {
        states.push_back(host["state"]);
    }
    CHECK(states == std::vector<std::string>{"source", "differs", "absent", "differs", "shared"});
    CHECK(json["from"] == "a:/data/llama");
    CHECK(json["same"] == false);
}

TEST_CASE("a push is told in one line") {
    auto state = mixed();
    state.hosts[2] = {.host = 2, .node = {.plan = {.files = 31, .bytes = 31 << 20}}};
    state.hosts[3] = {.host = 3};
    CHECK(pushed_text(llama, state, five_hosts()) == "a:/data/llama → /data/llama: a: it comes from there; "
                                                     "b, c: 31 files (31.0 MiB) sent; d: had it all; e: "
                                                     "shares that of d\n");
    CHECK(removed_text(llama, state, five_hosts()) ==
          "removed what a:/data/llama has from /data/llama on b, c, d, e\n");
    CHECK(to_json(llama, state, five_hosts(), DataWork::push)["hosts"][1]["state"] == "sent");
    state.hosts = {{.host = 1}};
    CHECK(state.same_everywhere());
}

} // namespace data_text_test
