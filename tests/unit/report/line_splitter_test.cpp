#include "client/report/line_splitter.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace line_splitter_test {

using namespace dockdist;

namespace {

constexpr std::size_t limit = LineSplitter::limit;

std::vector<std::string> lines_of(std::string_view bytes, const std::vector<std::size_t>& slices) {
    LineSplitter stream;
    std::vector<std::string> lines;
    const auto keep = [&](const LinePart& part) {
        if (part.plain) {
            CHECK(is_plain_ascii(part.text));
        }
        lines.push_back((part.continued ? "+" : "") + std::string(part.text));
    };
    for (const auto slice : slices) {
        stream.feed(bytes.substr(0, slice), keep);
        bytes.remove_prefix(std::min(slice, bytes.size()));
    }
    stream.feed(bytes, keep);
    stream.end(keep);
    return lines;
}

std::vector<std::string> lines_of(std::string_view bytes) {
    return lines_of(bytes, {});
}

using Lines = std::vector<std::string>;

} // namespace

TEST_CASE("lines come out whole, and the last one at the end") {
    CHECK(lines_of("a\n\nbc\nd") == Lines{"a", "", "bc", "d"});
    CHECK(lines_of("").empty());
}

TEST_CASE("a carriage return before the newline is part of the line's end") {
    CHECK(lines_of("a\r\nb\r\r\n\r\nc\n") == Lines{"a", "b", "", "c"});
}

TEST_CASE("of a progress bar its last state comes out") {
    CHECK(lines_of("\r 10%\r 50%\r100%\ndone\n") == Lines{"100%", "done"});
    CHECK(lines_of("10%\r20%\r\n") == Lines{"20%"});
    CHECK(lines_of("10%\r20%") == Lines{"20%"});
    CHECK(lines_of("10%\r") == Lines{"10%"});
}

TEST_CASE("the present state of a progress bar can be seen before it ends") {
    LineSplitter stream;
    const auto ignore = [](const LinePart&) {};
    stream.feed("plain start", ignore);
    CHECK_FALSE(stream.live());
    stream.feed("\r10%", ignore);
    CHECK(stream.live() == "10%");
    stream.feed("\r", ignore);
    CHECK(stream.live() == "10%");
    stream.feed("20%", ignore);
    CHECK(stream.live() == "20%");
    stream.feed("\n", ignore);
    CHECK_FALSE(stream.live());
}

TEST_CASE("a line above the limit comes in parts") {
    const std::string exact(limit, 'x');
    CHECK(lines_of(exact + "\n") == Lines{exact});
    CHECK(lines_of(exact + "yz\nnext\n") == Lines{exact, "+yz", "next"});
    CHECK(lines_of(exact + exact + "y") == Lines{exact, "+" + exact, "+y"});
}

TEST_CASE("a part never ends inside a character") {
    const std::string before(limit - 1, 'x');
    CHECK(lines_of(before + "→y\n") == Lines{before, "+→y"});
}

TEST_CASE("an endless line without newline is held in bounded memory") {
    LineSplitter stream;
    std::size_t emitted = 0;
    const auto count = [&](const LinePart& part) { emitted += part.text.size(); };
    const std::string chunk(100'000, 'x');
    for (int i = 0; i < 100; ++i) {
        stream.feed(chunk, count);
    }
    CHECK(emitted >= 100 * chunk.size() - limit - 1);
}

TEST_CASE("what comes out does not depend on how the bytes are sliced") {
    std::mt19937 random(7); // NOLINT(cert-msc51-cpp): the same cases each time
    const std::vector<std::string> pieces{"a",  "\n",       "\r",   "\r\n",  "→",
                                          "🚀", "\x1b[31m", "\xFF", "word ", std::string(40'000, 'y')};
    const auto pick = [&](std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
    };
    for (int round = 0; round < 300; ++round) {
        std::string bytes;
        for (std::size_t i = 0; i < 60; ++i) {
            bytes += pieces[pick(pieces.size() - (pick(4) == 0 ? 0 : 1))];
        }
        std::vector<std::size_t> slices;
        for (std::size_t i = 0; i < 40; ++i) {
            slices.push_back(pick(pick(2) == 0 ? 8 : 70'000));
        }
        const bool same = lines_of(bytes) == lines_of(bytes, slices);
        CAPTURE(round);
        REQUIRE(same);
    }
}

} // namespace line_splitter_test
