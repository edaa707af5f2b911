#include "shared/wire/frame.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace frame_test {

using namespace dockdist;
using wire::Frame;
using wire::FrameDecoder;

namespace {

const Frame output{.kind = Frame::Kind::output,
                   .stream = 2,
                   .rank = 5,
                   .position = 0x0102030405060708,
                   .time_ms = 0x0A0B0C0D0E0F,
                   .payload = "text"};

bool same(const Frame& a, const Frame& b) {
    return a.kind == b.kind && a.stream == b.stream && a.rank == b.rank && a.position == b.position &&
           a.time_ms == b.time_ms && a.payload == b.payload;
}

} // namespace

TEST_CASE("a frame's bytes are those of the protocol") {
    using namespace std::string_literals;
    CHECK(wire::encode(output) ==
          "O\x02\x0B\x0A\x05\0\0\0\x04\0\0\0\x0F\x0E\x0D\x0C\x08\x07\x06\x05\x04\x03\x02\x01text"s);
}

TEST_CASE("rank -1 survives the way") {
    FrameDecoder decoder;
    decoder.feed(wire::encode({.rank = -1, .payload = "{}"}));
    CHECK((*decoder.next())->rank == -1);
}

TEST_CASE("a rank that no job has is an error") {
    for (const auto rank : {-2, wire::max_rank + 1, std::numeric_limits<std::int32_t>::min()}) {
        CHECK(
            wire::parse_header(wire::encode_header({.kind = Frame::Kind::output, .stream = 1, .rank = rank}))
                .has_error());
    }
    CHECK(wire::parse_header(
              wire::encode_header({.kind = Frame::Kind::output, .stream = 1, .rank = wire::max_rank}))
              ->rank == wire::max_rank);
}

TEST_CASE("frames come whole however their bytes are cut") {
    const auto bytes =
        wire::encode(output) + wire::encode({.kind = Frame::Kind::pong}) + wire::encode(output);
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        CAPTURE(piece);
        FrameDecoder decoder;
        std::vector<Frame> frames;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            decoder.feed(std::string_view(bytes).substr(at, piece));
            for (auto frame = decoder.next(); frame && *frame; frame = decoder.next()) {
                frames.push_back(**frame);
            }
        }
        REQUIRE(frames.size() == 3);
        CHECK(same(frames[0], output));
        CHECK(frames[1].kind == Frame::Kind::pong);
        CHECK(same(frames[2], output));
    }
}

TEST_CASE("an unknown kind is an error") {
    FrameDecoder decoder;
    decoder.feed("X" + std::string(23, '\0'));
    CHECK(decoder.next().error().kind == ErrorKind::protocol);
}

TEST_CASE("a length beyond the limit is an error before its bytes arrive") {
    auto bytes = wire::encode({.payload = "x"});
    bytes[11] = '\x7F';
    FrameDecoder decoder;
    decoder.feed(bytes);
    CHECK(decoder.next().error().kind == ErrorKind::protocol);
}

TEST_CASE("text that is not of the protocol is an error") {
    FrameDecoder decoder;
    decoder.feed("OCI runtime exec failed: exec failed");
    CHECK(decoder.next().error().kind == ErrorKind::protocol);
}

TEST_CASE("a time on a frame that is not output is an error") {
    auto bytes = wire::encode({.payload = "{}"});
    bytes[12] = 1;
    FrameDecoder decoder;
    decoder.feed(bytes);
    CHECK(decoder.next().error().kind == ErrorKind::protocol);
}

TEST_CASE("a header cut short is not a header") {
    CHECK(wire::parse_header("O").error().kind == ErrorKind::protocol);
}

} // namespace frame_test
