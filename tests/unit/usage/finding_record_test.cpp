#include "shared/usage/finding_record.hpp"

#include <doctest/doctest.h>

namespace finding_record_test {

using namespace dockdist;
using wire::Finding;

namespace {

Finding hot(int gpu, const char* about) {
    return {.kind = Finding::Kind::thermal, .gpu = gpu, .about = about};
}

} // namespace

TEST_CASE("a thing is kept once, in its latest words, with all of its time") {
    FindingRecord record;
    CHECK(record.findings().empty());
    record.hear(1000, {hot(0, "84 °C")});
    record.hear(2000, {hot(0, "85 °C"), hot(1, "90 °C")});
    record.hear(4000, {hot(1, "91 °C")});
    record.hear(60'000, {});
    record.hear(61'000, {hot(0, "86 °C")}); // the minute between does not count
    record.hear(62'000, {hot(0, "87 °C")});
    const auto found = record.findings();
    REQUIRE(found.size() == 2);
    CHECK(found[0].about == "87 °C");
    CHECK(found[0].for_ms == 1000 + 1000);
    CHECK(found[1].about == "91 °C");
    CHECK(found[1].for_ms == 2000);
}

TEST_CASE("what is said after it has held for a while brings that time with it, once") {
    FindingRecord record;
    const auto low = [](std::int64_t for_ms) { return Finding{.gpu = 2, .for_ms = for_ms}; };
    record.hear(60'000, {low(60'000)});
    record.hear(61'000, {low(61'000)});
    CHECK(record.findings()[0].for_ms == 61'000);
    record.hear(62'000, {});
    record.hear(200'000, {low(60'000)}); // another time
    CHECK(record.findings()[0].for_ms == 121'000);
}

TEST_CASE("an nvidia-smi that was away for a moment is not kept, and one that stays away is") {
    FindingRecord record;
    const Finding away{.kind = Finding::Kind::no_figures, .about = "nvidia-smi has ended with code 9"};
    record.hear(1000, {away});
    record.hear(2000, {});
    CHECK(record.findings().empty());
    record.hear(3000, {away});
    record.hear(4000, {away});
    REQUIRE(record.findings().size() == 1);
    CHECK(record.findings()[0].for_ms == 1000);
}

TEST_CASE("GPUs, ranks and file systems are told apart, and there is an end to them") {
    FindingRecord record;
    record.hear(0, {hot(0, ""),
                    hot(1, ""),
                    {.kind = Finding::Kind::memory_grows, .rank = 1},
                    {.kind = Finding::Kind::disk_full, .disk = "/"},
                    {.kind = Finding::Kind::disk_full, .disk = "/data"}});
    CHECK(record.findings().size() == 5);
    std::vector<Finding> many;
    for (int i = 0; i < 100; ++i) {
        many.push_back(hot(i, "later"));
    }
    record.hear(1000, many);
    const auto found = record.findings();
    CHECK(found.size() == wire::most_kept_findings);
    CHECK(found[0].about == "later"); // what is kept goes on
}

} // namespace finding_record_test
