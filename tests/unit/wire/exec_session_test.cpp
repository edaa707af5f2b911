#include "shared/wire/exec_session.hpp"

#include <doctest/doctest.h>

#include <string>

namespace exec_session_test {

using namespace dockdist;
using namespace std::string_literals;
using Kind = wire::SessionFrame::Kind;

TEST_CASE("the frames' bytes are those of the protocol") {
    CHECK(wire::encode(wire::SessionFrame{.kind = Kind::input, .input = "ls\n"}) == "I\3\0\0\0ls\n"s);
    CHECK(wire::encode(wire::SessionFrame{.kind = Kind::window, .window = {.rows = 24, .columns = 300}}) ==
          "W\4\0\0\0\x18\0\x2C\1"s);
    CHECK(wire::encode(wire::SessionFrame{.kind = Kind::quit}) == "Q\0\0\0\0"s);
}

TEST_CASE("frames come out whole, in whatever pieces they go in") {
    const auto bytes =
        wire::encode(wire::SessionFrame{.kind = Kind::input, .input = "a\0b"s}) +
        wire::encode(wire::SessionFrame{.kind = Kind::ping}) +
        wire::encode(wire::SessionFrame{.kind = Kind::window, .window = {.rows = 50, .columns = 65535}}) +
        wire::encode(wire::SessionFrame{.kind = Kind::end});
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        wire::SessionFrameDecoder decoder;
        std::string seen;
        for (std::size_t at = 0; at < bytes.size(); at += piece) {
            decoder.feed(std::string_view(bytes).substr(at, piece));
            for (auto frame = decoder.next(); *frame; frame = decoder.next()) {
                seen += static_cast<char>((*frame)->kind);
                if ((*frame)->kind == Kind::input) {
                    CHECK((*frame)->input == "a\0b"s);
                }
                if ((*frame)->kind == Kind::window) {
                    CHECK((*frame)->window == wire::WindowSize{.rows = 50, .columns = 65535});
                }
            }
        }
        CHECK(seen == "IPWE");
    }
}

TEST_CASE("what is no frame ends the session") {
    for (const auto& bytes :
         {"X\0\0\0\0"s, "ls\n"s, "I\1\0\1\0"s, "W\0\0\0\0"s, "W\5\0\0\0"s, "P\1\0\0\0"s, "Q\0\0\0\x80"s}) {
        wire::SessionFrameDecoder decoder;
        decoder.feed(bytes);
        const auto frame = decoder.next();
        CAPTURE(bytes);
        REQUIRE_FALSE(frame.has_value());
        CHECK(frame.error().kind == ErrorKind::protocol);
    }
}

TEST_CASE("what a session asks for survives the way") {
    const auto plain = wire::parse_session_ask(wire::session_ask({.lease_ms = 30000}));
    REQUIRE(plain.has_value());
    CHECK(plain->lease_ms == 30000);
    CHECK(plain->input);
    CHECK_FALSE(plain->terminal.has_value());
    const auto at_terminal = wire::parse_session_ask(
        wire::session_ask({.lease_ms = 0, .terminal = wire::WindowSize{.rows = 24, .columns = 80}}));
    const auto without_input = wire::parse_session_ask(wire::session_ask({.input = false}));
    REQUIRE(without_input.has_value());
    CHECK_FALSE(without_input->input);
    REQUIRE(at_terminal.has_value());
    CHECK(at_terminal->terminal == wire::WindowSize{.rows = 24, .columns = 80});
    for (const auto* text : {"", "{}", R"({"lease_ms":-1})", R"({"lease_ms":"1"})",
                             R"({"lease_ms":1,"terminal":3})", R"({"lease_ms":1,"terminal":{"rows":-1}})"}) {
        CAPTURE(text);
        CHECK_FALSE(wire::parse_session_ask(text).has_value());
    }
}

} // namespace exec_session_test
