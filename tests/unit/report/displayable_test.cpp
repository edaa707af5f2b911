#include "client/report/displayable.hpp"
#include "client/report/output.hpp"

#include <doctest/doctest.h>

#include <type_traits>
#include <utility>

namespace displayable_test {

using namespace dockdist;

namespace {

template <class Bytes>
concept SinkTakes = requires(OutputSink& sink, Bytes bytes) { sink.write(1, bytes); };

std::string text(std::string_view lines) {
    return std::string(Displayable::text(lines).bytes());
}

std::string drawn(std::string_view lines) {
    return std::string(Displayable::drawn(lines).bytes());
}

std::string json(std::string_view dumped) {
    return std::string(Displayable::json(dumped).bytes());
}

} // namespace

TEST_CASE("a sink takes only what was made to be shown") {
    CHECK(SinkTakes<Displayable>);
    CHECK_FALSE(SinkTakes<std::string>);
    CHECK_FALSE(SinkTakes<std::string_view>);
    CHECK_FALSE(SinkTakes<const char*>);
}

TEST_CASE("text keeps its lines, tabs and letters, and nothing that a terminal obeys") {
    CHECK(text("a\tb\nc\n") == "a\tb\nc\n");
    CHECK(text("größe → ✓\n") == "größe → ✓\n");
    CHECK(text("\x1b]52;c;QQ==\x07") == "\\x1b]52;c;QQ==\\x07");
    CHECK(text("\x1b[31mred\x1b[0m\r") == "\\x1b[31mred\\x1b[0m\\x0d");
    CHECK(text(std::string_view("\0\x7f", 2)) == "\\x00\\x7f");
    CHECK(text("\xc2\x9b"
               "31m \x9b") == "\\x9b31m \\x9b");
    CHECK(text("\xe2\x80\xae\xe2\x81\xa9\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f\xe2\x81\xaf") ==
          "\\u202e\\u2069\\u061c\\u200e\\u200f\\u206f");
}

TEST_CASE("what is drawn keeps colours and the live display's own sequences, and no others") {
    const std::string own = "\x1b[?25l\x1b[3A\r\x1b[1;31merror:\x1b[0m ✓\x1b[K\n\r\x1b[J\x1b[?25h";
    CHECK(drawn(own) == own);
    CHECK(drawn("\x1b[2K\x1b[?1049h\x1b[5;5H\x1b]0;title\x07\x1b"
                "c") == "\x1b[2K\\x1b[?1049h\\x1b[5;5H\\x1b]0;title\\x07\\x1bc");
    CHECK(drawn("\xc2\x9b"
                "2J\xe2\x80\xae") == "\\x9b2J\\u202e");
}

TEST_CASE("JSON stays the same value, and becomes harmless") {
    const std::string dumped = R"({"name":"größe","state":"ok"})"
                               "\n";
    CHECK(json(dumped) == dumped);
    CHECK(json("{\"a\":\"\x7f\xc2\x9b\xe2\x80\xae\xe2\x80\xa8\"}\n") ==
          "{\"a\":\"\\u007f\\u009b\\u202e\\u2028\"}\n");
}

TEST_CASE("raw bytes pass as they are, and kept ones live longer than what they were made of") {
    auto given = std::string("\x1b[2J\xff");
    const auto looking = Displayable::raw(given);
    const auto kept = looking.kept();
    CHECK(looking.bytes() == given);
    CHECK(looking.bytes().data() == given.data());
    given.assign(given.size(), 'x');
    CHECK(kept.bytes() == "\x1b[2J\xff");
}

} // namespace displayable_test
