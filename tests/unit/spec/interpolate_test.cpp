#include "client/spec/interpolate.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

namespace interpolate_test {

using namespace dockdist;
using test::environment;

namespace {

std::string text_of(std::string_view text) {
    const auto result = interpolate(text, environment({{"A", "one"}, {"EMPTY", ""}, {"DOLLAR", "$A ${A}"}}));
    return result.message.empty() ? result.text : "error: " + result.message;
}

} // namespace

TEST_CASE("a variable stands for its value") {
    CHECK(text_of("${A}") == "one");
    CHECK(text_of("x-${A}-${A}") == "x-one-one");
    CHECK(text_of("$A/b") == "one/b");
    CHECK(text_of("${EMPTY}") == "");
}

TEST_CASE("a default stands in for an unset variable, with a colon for an empty one too") {
    CHECK(text_of("${B:-two}") == "two");
    CHECK(text_of("${B-two}") == "two");
    CHECK(text_of("${EMPTY:-two}") == "two");
    CHECK(text_of("${EMPTY-two}") == "");
    CHECK(text_of("${A:-two}") == "one");
    CHECK(text_of("${B:-}") == "");
    CHECK(text_of("${B:-ssh://ops@h:22/a-b}") == "ssh://ops@h:22/a-b");
}

TEST_CASE("defaults may hold variables") {
    CHECK(text_of("${B:-${C:-x}y}z") == "xyz");
    CHECK(text_of("${B:-${A}}") == "one");
}

TEST_CASE("a replacement stands in for a set variable") {
    CHECK(text_of("${A:+yes}") == "yes");
    CHECK(text_of("${EMPTY:+yes}") == "");
    CHECK(text_of("${EMPTY+yes}") == "yes");
    CHECK(text_of("${B+yes}") == "");
}

TEST_CASE("two dollar signs are one, and a lone one stays") {
    CHECK(text_of("$${A}") == "${A}");
    CHECK(text_of("a$$b") == "a$b");
    CHECK(text_of("$(touch /pwn)") == "$(touch /pwn)");
    CHECK(text_of("costs 5$") == "costs 5$");
    CHECK(text_of("$1") == "$1");
}

TEST_CASE("a variable's value is not read again") {
    CHECK(text_of("${DOLLAR}") == "$A ${A}");
}

TEST_CASE("an unset variable is an error that names it") {
    CHECK(text_of("${B}") == "error: the variable `B` is not set");
    CHECK(text_of("$B") == "error: the variable `B` is not set");
    CHECK(text_of("${B:?ask your admin}") == "error: the variable `B` is not set: ask your admin");
    CHECK(text_of("${EMPTY:?ask}") == "error: the variable `EMPTY` is not set: ask");
    CHECK(text_of("${EMPTY?ask}") == "");
}

TEST_CASE("what is no variable is an error") {
    CHECK(text_of("${A") == "error: a `${` is not closed");
    CHECK(text_of("${}") == "error: `${}` names no variable");
    CHECK(text_of("${1}") == "error: `${1}` names no variable");
    CHECK(text_of("${A b}").starts_with("error: the variable's name in `${A…}`"));
    CHECK(text_of("${A:b}").starts_with("error: the variable's name in `${A…}`"));
}

TEST_CASE("the error's offset is that of the dollar sign") {
    CHECK(interpolate("ab ${A} ${B}", environment({{"A", "a long value"}})).offset == 8);
}

TEST_CASE("nesting and growth end") {
    std::string nested;
    for (int i = 0; i < 100; ++i) {
        nested += "${B:-";
    }
    CHECK(text_of(nested + std::string(100, '}')) == "error: variables are nested more than 8 deep");
    std::string much;
    for (int i = 0; i < 100; ++i) {
        much += "${BIG}";
    }
    const auto result = interpolate(much, environment({{"BIG", std::string(100'000, 'x')}}));
    CHECK(result.message == "with its variables expanded this has more than 1048576 bytes");
}

} // namespace interpolate_test
