#include "shared/core/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

namespace utf8_test {

using namespace dockdist;

TEST_CASE("decode_utf8 reads characters of every length") {
    CHECK(decode_utf8("a").code_point == U'a');
    CHECK(decode_utf8("é").code_point == U'é');
    CHECK(decode_utf8("→").code_point == U'→');
    CHECK(decode_utf8("🚀").code_point == U'🚀');
    CHECK(decode_utf8("🚀x").size == 4);
}

TEST_CASE("decode_utf8 refuses what is not UTF-8") {
    for (const std::string text : {"", "\x80", "\xC3", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80",
                                   "\xF4\x90\x80\x80", "\xFF", "\xE2\x86", "\xC3("}) {
        CAPTURE(text);
        CHECK(decode_utf8(text).size == 0);
    }
}

TEST_CASE("utf8_prefix never ends inside a character") {
    const std::string text = "ab→🚀";
    CHECK(utf8_prefix(text, 1) == 1);
    CHECK(utf8_prefix(text, 3) == 2);
    CHECK(utf8_prefix(text, 4) == 2);
    CHECK(utf8_prefix(text, 5) == 5);
    CHECK(utf8_prefix(text, 8) == 5);
    CHECK(utf8_prefix(text, 9) == 9);
    CHECK(utf8_prefix(text, 100) == 9);
    CHECK(utf8_prefix(std::string(10, '\x80'), 6) == 6);
}

} // namespace utf8_test
