#include "node/book/records.hpp"

#include <doctest/doctest.h>

namespace records_test {

using namespace dockdist;
using namespace dockdist::node;
using Outcome = Applied::Outcome;

TEST_CASE("a record is changed by who knows its version, and by nobody else") {
    Records records;
    CHECK(records.apply({.name = "a", .bytes = "1"}, 5) == Applied{.version = 5});
    CHECK(records.apply({.name = "a", .bytes = "2"}, 6) ==
          Applied{.outcome = Outcome::conflict, .version = 5});
    CHECK(records.apply({.name = "a", .version = 5, .bytes = "2"}, 7) == Applied{.version = 7});
    CHECK(records.apply({.name = "a", .version = 7}, 8) == Applied{.version = 8});
    CHECK(records.all().empty());
    // One of the same name that comes later is another one.
    CHECK(records.apply({.name = "a", .version = 7, .bytes = "3"}, 9) ==
          Applied{.outcome = Outcome::conflict});
    CHECK(records.apply({.name = "a", .bytes = "3"}, 10) == Applied{.version = 10});
    CHECK(records.applied() == 10);
}

TEST_CASE("records are the same after they were saved and restored, and nothing else is taken for some") {
    Records records;
    records.apply({.name = "a", .bytes = "1"}, 5);
    records.apply({.name = "b", .bytes = ""}, 6);
    const auto state = records.save();
    Records again;
    REQUIRE(again.restore(state, 9).has_value());
    CHECK(again.all() == records.all());
    CHECK(again.applied() == 9);
    for (std::size_t size = 1; size < state.size(); ++size) {
        if (const auto restored = again.restore(state.substr(0, size), 9)) {
            CHECK(again.all().size() == 1); // cut between two
        }
    }
    CHECK_FALSE(again.restore(state, 5).has_value()); // of a version that cannot be
    CHECK_FALSE(again.restore(state + state, 9).has_value());
}

TEST_CASE("there is no room for more than all may have together, and what goes makes some") {
    Records records;
    const std::string large(most_record_bytes, 'x');
    std::uint64_t index = 1;
    std::string last;
    while (true) {
        last = "job-" + std::to_string(index);
        const auto applied = records.apply({.name = last, .bytes = large}, index);
        if (applied.outcome == Outcome::full) {
            break;
        }
        ++index;
    }
    CHECK(index > 60);
    CHECK(records.save().size() <= most_state_bytes);
    CHECK(records.apply({.name = "job-1", .version = 1, .bytes = "small"}, index + 1).outcome ==
          Outcome::accepted);
    CHECK(records.apply({.name = last, .bytes = large}, index + 2).outcome == Outcome::accepted);
    Records again;
    REQUIRE(again.restore(records.save(), index + 2).has_value());
    CHECK(again.apply({.name = "another", .bytes = large}, index + 3).outcome == Outcome::full);
}

TEST_CASE("a change is read as it was written; one without a name, or too large, is none") {
    for (const auto& change : {RecordChange{.name = "a", .version = 3, .bytes = "b"},
                               RecordChange{.name = "a"}, RecordChange{.name = "a", .bytes = ""}}) {
        const auto bytes = to_bytes(change);
        CHECK(*parse_record_change(bytes) == change);
        CHECK_FALSE(parse_record_change(bytes + "x").has_value());
        CHECK_FALSE(parse_record_change(std::string_view(bytes).substr(1)).has_value());
    }
    CHECK_FALSE(parse_record_change(to_bytes({.bytes = "b"})).has_value());
    CHECK_FALSE(
        parse_record_change(to_bytes({.name = std::string(longest_record_name + 1, 'n')})).has_value());
    CHECK_FALSE(parse_record_change(to_bytes({.name = "a", .bytes = std::string(most_record_bytes + 1, 'x')}))
                    .has_value());
}

} // namespace records_test
