#include "client/report/display_text.hpp"

#include <doctest/doctest.h>

namespace display_text_test {

using namespace dockdist;

TEST_CASE("is_plain_ascii tells control bytes and other alphabets apart, wherever they stand") {
    CHECK(is_plain_ascii("a\tb\nc"));
    CHECK(is_plain_ascii(std::string(1000, 'x')));
    for (const char bad : {'\x1b', '\r', '\x7f', '\0', '\x80', '\xff'}) {
        for (const std::size_t at : {0U, 255U, 256U, 999U}) {
            std::string text(1000, 'x');
            text[at] = bad;
            CAPTURE(at);
            CHECK_FALSE(is_plain_ascii(text));
        }
    }
}

TEST_CASE("safe_line keeps colours on a terminal and closes them") {
    CHECK(safe_line("\x1b[31mred\x1b[38;5;9m!", Colours::keep) == "\x1b[31mred\x1b[38;5;9m!\x1b[0m");
    CHECK(safe_line("\x1b[31mred\x1b[0m", Colours::drop) == "red");
}

TEST_CASE("safe_line shows what would move the cursor, change the title or reset the terminal") {
    CHECK(safe_line("\x1b[2J", Colours::keep) == "\\x1b[2J");
    CHECK(safe_line("\x1b]0;title\x07", Colours::keep) == "\\x1b]0;title\\x07");
    CHECK(safe_line("\x1b"
                    "c",
                    Colours::keep) == "\\x1bc");
    CHECK(safe_line("\x1b[?1049h", Colours::keep) == "\\x1b[?1049h");
    CHECK(safe_line("a\bb", Colours::keep) == "a\\x08b");
    CHECK(safe_line("\xC2\x9B"
                    "2J",
                    Colours::keep) == "\\x9b2J");
    CHECK(safe_line("\x9B"
                    "2J",
                    Colours::keep) == "\\x9b2J");
    CHECK(safe_line("\x1b[31", Colours::keep) == "\\x1b[31");
    CHECK(safe_line("\x1b[?25m", Colours::keep) == "\\x1b[?25m");
    CHECK(safe_line("abc\u202Ecba", Colours::keep) == "abc\\u202ecba");
}

TEST_CASE("safe_line drops what only serves a live display") {
    CHECK(safe_line("\x1b[?25l50%\x1b[K\x1b[A\x1b[?25h", Colours::keep) == "50%");
}

TEST_CASE("safe_line leaves other alphabets alone") {
    CHECK(safe_line("Größe 世界 🚀 50%|█████", Colours::drop) == "Größe 世界 🚀 50%|█████");
}

TEST_CASE("display_width counts columns, not bytes") {
    CHECK(display_width("abc") == 3);
    CHECK(display_width("grün") == 4);
    CHECK(display_width("世界") == 4);
    CHECK(display_width("🚀") == 2);
    CHECK(display_width("e\u0301") == 1);
    CHECK(display_width("\x1b[31mred\x1b[0m") == 3);
}

TEST_CASE("wrapped breaks at spaces, and within words that are wider than a line") {
    using Lines = std::vector<std::string>;
    CHECK(wrapped("", 5) == Lines{""});
    CHECK(wrapped("ab cd", 5) == Lines{"ab cd"});
    CHECK(wrapped("ab cd ef", 5) == Lines{"ab cd", "ef"});
    CHECK(wrapped("ab cde f", 5) == Lines{"ab", "cde f"});
    CHECK(wrapped("abcdefg hi", 5) == Lines{"abcde", "fg hi"});
    CHECK(wrapped("世界 世界", 5) == Lines{"世界", "世界"});
    CHECK(wrapped("a\xff"
                  "bc",
                  2) == Lines{"a\xff", "bc"});
}

TEST_CASE("clipped cuts by columns and says so") {
    CHECK(clipped("abcdef", 6, true) == "abcdef");
    CHECK(clipped("abcdef", 5, true) == "abcd…");
    CHECK(clipped("abcdef", 5, false) == "ab...");
    CHECK(clipped("abcdef", 2, false) == "..");
    CHECK(clipped("世界世界", 6, true) == "世界…");
    CHECK(clipped("abc", 0, true).empty());
}

TEST_CASE("a name is cut in the middle, by whole characters") {
    CHECK(clipped_middle("ssh://ops@gpu-128", 17, true) == "ssh://ops@gpu-128");
    CHECK(clipped_middle("ssh://ops@gpu-128", 11, true) == "ssh:/…u-128");
    CHECK(clipped_middle("ssh://ops@gpu-128", 11, false) == "ssh:...-128");
    CHECK(clipped_middle("世界世界世界", 7, true) == "世…界");
    CHECK(clipped_middle("größe-größe", 6, true) == "grö…ße");
    for (std::size_t columns = 0; columns < 20; ++columns) {
        CHECK(display_width(clipped_middle("ssh://ops@gpu-128", columns, true)) <= columns);
        CHECK(display_width(clipped_middle("ssh://ops@gpu-128", columns, false)) <= columns);
        CHECK(display_width(clipped_middle("世界世界世界世界世界", columns, true)) <= columns);
    }
}

TEST_CASE("a name of a megabyte is cut as fast as it is read") {
    const auto cut = clipped_middle(std::string(1U << 20U, 'x'), 11, true); // a square of that took minutes
    CHECK(cut == "xxxxx…xxxxx");
    CHECK(clipped_middle("abcdeX\u0301Y", 4, true) == "ab…Y");
}

TEST_CASE("lines that are too wide go on below, at words, and no word is broken") {
    CHECK(wrap_words("error: the node is not there, and nothing is\n", 20, 4) ==
          "error: the node is\n    not there, and\n    nothing is\n");
    CHECK(wrap_words("short\n  as it is\n", 20, 4) == "short\n  as it is\n");
    CHECK(wrap_words("  - an item of a list\n", 14, 4) == "  - an item of\n    a list\n");
    CHECK(wrap_words("        deep is its own indent\n", 22, 4) ==
          "        deep is its\n        own indent\n");
    CHECK(wrap_words("see https://example.test/a/long/address for more\n", 20, 2) ==
          "see\n  https://example.test/a/long/address\n  for more\n");
    CHECK(wrap_words("\x1b[1;31merror:\x1b[0m one two\n", 14, 2) == "\x1b[1;31merror:\x1b[0m one two\n");
    CHECK(wrap_words("\x1b[1;31merror:\x1b[0m one two\n", 13, 2) == "\x1b[1;31merror:\x1b[0m one\n  two\n");
    CHECK(wrap_words("no limit at all\n", 0, 4) == "no limit at all\n");
    CHECK(wrap_words("no newline at all", 8, 4) == "no\nnewline\nat all"); // all indent would be no room
    CHECK(wrap_words("", 10, 4).empty());
}

TEST_CASE("signs beyond ASCII have a form in it, and names keep their letters") {
    CHECK(ascii_signs("2 × H100 → 24 µs, 31 °C…") == "2 x H100 -> 24 us, 31 C...");
    CHECK(ascii_signs("größe") == "größe");
}

TEST_CASE("clipped closes the colours of what it cuts") {
    CHECK(clipped("\x1b[31mabcdef\x1b[0m", 4, true) == "\x1b[31mabc…\x1b[0m");
}

} // namespace display_text_test
