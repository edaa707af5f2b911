#include "golden.hpp"
#include "shared/core/telling_lines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace telling_lines_test {

using namespace dockdist;

namespace {

std::string read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t lines_of(const std::string& text) {
    return text.empty() ? 0 : static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
}

std::string many(const std::string& line, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
        text += line + std::to_string(i) + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("of recorded outputs a screenful tells the cause") {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(DOCKDIST_SOURCE_DIR) + "/tests/unit/core/tails")) {
        CAPTURE(entry.path().filename().string());
        const auto told = telling_lines(read(entry.path()));
        CHECK(lines_of(told.text) <= Screenful().lines);
        CHECK(told.text.size() <= Screenful().bytes);
        check_golden("core/tails/" + entry.path().filename().string(), told.text + "\n");
    }
}

TEST_CASE("what fits is told whole, without escape sequences and empty lines") {
    CHECK(telling_lines("a\n\n  b \n").text == "a\n  b");
    CHECK(telling_lines("\x1b[1;31mred\x1b[0m \x1b]0;title\atext\x1b[K\n").text == "red text");
    CHECK(telling_lines(" 10%\r 50%\r100%\r\nend").text == "100%\nend");
    CHECK(telling_lines("").text.empty());
    CHECK(telling_lines("a\n").left_out == 0);
}

TEST_CASE("without a cause it is the end") {
    const auto told = telling_lines(many("line ", 100), {.lines = 4, .bytes = 1600});
    CHECK(told.text == "… 97 lines\nline 97\nline 98\nline 99");
    CHECK(told.left_out == 97);
}

TEST_CASE("what was left out before is counted on") {
    const auto first = telling_lines(many("line ", 100), {.lines = 10, .bytes = 1600});
    const auto second = telling_lines(first.text, {.lines = 3, .bytes = 1600});
    CHECK(second.text == "… 98 lines\nline 98\nline 99");
    CHECK(second.left_out == 98);
    CHECK(telling_lines("… 5 lines\nend").left_out == 5);
    CHECK(telling_lines("… 5 lines more\nend").left_out == 0); // somebody else's
}

TEST_CASE("a long line keeps both its ends, between characters") {
    std::string line = "begin";
    for (int i = 0; i < 3000; ++i) {
        line += "ä€";
    }
    const auto told = telling_lines(line + "end\n" + line + "end").text;
    CHECK(told.starts_with("begin"));
    CHECK(told.ends_with("end"));
    CHECK(told.find(" … ") != std::string::npos);
    CHECK(told.size() <= Screenful().bytes);
    CHECK(telling_lines("\xff\xfe" + std::string(5000, '\x80')).text.size() <= Screenful().bytes + 3);
}

TEST_CASE("whatever a program writes, what is told of it is a screenful") {
    std::string text;
    std::uint32_t state = 1;
    const std::string words[] = {"Traceback (most recent call last):",
                                 "  File \"a\", line 1, in f",
                                 "ValueError: x",
                                 "│",
                                 "╭",
                                 "\x1b[",
                                 "[rank3]: ",
                                 "(x pid=1) ",
                                 "frame #1:",
                                 "… 3 lines",
                                 "\n",
                                 "\r",
                                 " ",
                                 "\xe2\x94",
                                 "KeyboardInterrupt",
                                 "Fatal Python error:",
                                 "what():"};
    for (int i = 0; i < 20000; ++i) {
        state = state * 1664525U + 1013904223U;
        text += words[(state >> 16U) % std::size(words)];
        if (i % 97 == 0) {
            for (const Screenful most :
                 {Screenful{.lines = 1, .bytes = 100}, Screenful{.lines = 5, .bytes = 300}, Screenful{}}) {
                const auto told = telling_lines(text, most).text;
                REQUIRE(lines_of(told) <= most.lines);
                REQUIRE(told.size() <= most.bytes + 40);
            }
        }
    }
}

} // namespace telling_lines_test
