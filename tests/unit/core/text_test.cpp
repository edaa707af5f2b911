#include "shared/core/random.hpp"
#include "shared/core/text.hpp"

#include <doctest/doctest.h>

#include <array>

namespace text_test {

using namespace dockdist;

TEST_CASE("shell_quote leaves plain words bare and quotes the rest") {
    CHECK(shell_quote("train.py") == "train.py");
    CHECK(shell_quote("") == "''");
    CHECK(shell_quote("a b") == "'a b'");
    CHECK(shell_quote("$(touch /pwn)") == "'$(touch /pwn)'");
    CHECK(shell_quote("it's") == "'it'\\''s'");
}

TEST_CASE("is_plain_name refuses what an engine or a hostfile would misread") {
    CHECK(is_plain_name("node-0"));
    CHECK(is_plain_name("gpu1.rack2"));
    CHECK_FALSE(is_plain_name(""));
    CHECK_FALSE(is_plain_name("-a"));
    CHECK_FALSE(is_plain_name("a..b"));
    CHECK_FALSE(is_plain_name("a\nb"));
    CHECK_FALSE(is_plain_name("A"));
    CHECK_FALSE(is_plain_name(std::string(64, 'a')));
}

TEST_CASE("nearest names the word that was meant, and nothing when none is near") {
    constexpr std::array<std::string_view, 3> keys{"shm_size", "ulimits", "mounts"};
    CHECK(nearest("shmsize", keys) == "shm_size");
    CHECK(nearest("ulimit", keys) == "ulimits");
    CHECK(nearest("banana", keys).empty());
    CHECK(nearest("moutns", keys) == "mounts");
    constexpr std::array<std::string_view, 1> short_word{"image"};
    CHECK(nearest("imgae", short_word) == "image");
}

TEST_CASE("printable shows control bytes instead of obeying them") {
    CHECK(printable("a\x1b[2Jb") == "a\\x1b[2Jb");
    CHECK(printable("tab\there") == "tab\there");
    CHECK(printable("\xC2\x9B") == "\\x9b");
    CHECK(printable("grün") == "grün");
}

TEST_CASE("printable shows bytes that are not UTF-8 and characters that reorder a line") {
    CHECK(printable("a\xFFz") == "a\\xffz");
    CHECK(printable("\x9B") == "\\x9b");
    CHECK(printable("a\u202Eb") == "a\\u202eb");
    CHECK(printable("a\u2028b") == "a\\u2028b");
}

TEST_CASE("is_printable says whether printable would change anything") {
    CHECK(is_printable("tab\tgrün → 🚀"));
    for (const std::string text : {"\x1b", "\n", "\x7f", "\xC2\x9B", "\xFF", "\u202E"}) {
        CAPTURE(text);
        CHECK_FALSE(is_printable(text));
    }
}

TEST_CASE("random digits: as many as asked for, hexadecimal, others each time") {
    CHECK(random_hex(0).empty());
    for (const std::size_t digits : {1U, 8U, 11U, 32U}) {
        const auto text = random_hex(digits);
        CHECK(text.size() == digits);
        CHECK(text.find_first_not_of("0123456789abcdef") == std::string::npos);
    }
    CHECK(random_hex(32) != random_hex(32));
}

TEST_CASE("the last line that says something") {
    CHECK(last_line("").empty());
    CHECK(last_line(" \r\n\n").empty());
    CHECK(last_line("one") == "one");
    CHECK(last_line("one\n  two \r\n \n") == "two");
}

TEST_CASE("words between blanks, without empty ones") {
    using Words = std::vector<std::string_view>;
    CHECK(split_blanks("") == Words{});
    CHECK(split_blanks(" \t\r") == Words{});
    CHECK(split_blanks("  a\tbc \r") == Words{"a", "bc"});
    CHECK(split_blanks("a\rb c", " ") == Words{"a\rb", "c"});
}

} // namespace text_test
