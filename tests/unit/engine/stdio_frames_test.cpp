#include "client/engine/stdio_frames.hpp"
#include "fakes/show.hpp"
#include "fakes/stub_server.hpp"

#include <doctest/doctest.h>

namespace stdio_frames_test {

using namespace dockdist;

namespace {

// "1:text" for stdout, "2:text" for stderr; neighbouring pieces of one stream joined.
std::string drain(StdioFrames& frames, std::string& out, std::string& err) {
    while (true) {
        const auto chunk = frames.next();
        if (!chunk) {
            return chunk.error().message;
        }
        if (!*chunk) {
            return "";
        }
        ((*chunk)->stream == StdStream::out ? out : err) += (*chunk)->bytes;
    }
}

} // namespace

TEST_CASE("frames fed byte by byte give every byte of each stream") {
    const std::string bytes =
        stdio_frame(1, "hello ") + stdio_frame(2, "oh no") + stdio_frame(1, "") + stdio_frame(1, "world");
    StdioFrames frames;
    std::string out;
    std::string err;
    for (const char byte : bytes) {
        frames.feed(std::string_view(&byte, 1));
        CHECK(drain(frames, out, err).empty());
    }
    CHECK(out == "hello world");
    CHECK(err == "oh no");
    CHECK(frames.at_boundary());
}

TEST_CASE("many frames fed at once all come out") {
    StdioFrames frames;
    frames.feed(stdio_frame(1, "a") + stdio_frame(1, "b") + stdio_frame(2, "c"));
    std::string out;
    std::string err;
    CHECK(drain(frames, out, err).empty());
    CHECK(out == "ab");
    CHECK(err == "c");
}

TEST_CASE("a part of a frame comes out before the rest is there") {
    StdioFrames frames;
    frames.feed(stdio_frame(1, "hello").substr(0, 8 + 2));
    std::string out;
    std::string err;
    drain(frames, out, err);
    CHECK(out == "he");
    CHECK_FALSE(frames.at_boundary());
}

TEST_CASE("a chunk is never larger than 64 KiB") {
    StdioFrames frames;
    frames.feed(stdio_frame(1, std::string(100'000, 'x')));
    const auto chunk = frames.next();
    REQUIRE(chunk);
    CHECK((*chunk)->bytes.size() == 65536);
}

TEST_CASE("bytes that are no frame are an error, and stay one") {
    StdioFrames frames;
    frames.feed("plain text, no frame");
    CHECK(frames.next().error().kind == ErrorKind::protocol);
    frames.feed(stdio_frame(1, "a"));
    CHECK(frames.next().error().kind == ErrorKind::protocol);
}

} // namespace stdio_frames_test
