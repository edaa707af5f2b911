#include "shared/wire/job_query.hpp"

#include <doctest/doctest.h>

namespace job_query_test {

using namespace dockdist;
using namespace dockdist::wire;

TEST_CASE("a query survives the way") {
    const JobQuery query{.job = "a",
                         .position = 1ULL << 40U,
                         .to_the_end = false,
                         .output = false,
                         .rank = 3,
                         .tail = 10,
                         .since_ms = 5000,
                         .grace_ms = 7};
    const auto parsed = parse_job_query(job_query(query));
    REQUIRE(parsed.has_value());
    CHECK(job_query(*parsed) == job_query(query));
    CHECK(parsed->position == 1ULL << 40U);
    CHECK(parsed->rank == 3);
}

TEST_CASE("a query for a job alone is for all of it, to its end") {
    const auto parsed = parse_job_query(R"({"job":"a"})");
    REQUIRE(parsed.has_value());
    CHECK(parsed->to_the_end);
    CHECK(parsed->output);
    CHECK_FALSE(parsed->rank.has_value());
    CHECK_FALSE(parsed->tail.has_value());
    CHECK_FALSE(parsed->since_ms.has_value());
}

TEST_CASE("a query that cannot be answered is an error") {
    for (const auto* text :
         {R"({})", R"({"job":"../x"})", R"({"job":"a","position":-1})", R"({"job":"a","tail":-1})",
          R"({"job":"a","tail":1000000})", R"({"job":"a","since_ms":-1})", R"({"job":"a","grace_ms":-1})",
          R"({"job":"a","rank":"3"})", R"({"job":"a","tail":null})"}) {
        CAPTURE(text);
        CHECK(parse_job_query(text).has_error());
    }
}

} // namespace job_query_test
