#include "shared/wire/tunnel.hpp"

#include <doctest/doctest.h>

#include <string>

namespace tunnel_test {

using namespace dockdist;
using namespace std::string_literals;
using wire::TunnelKind;

namespace {

std::string frame(TunnelKind kind, std::uint32_t channel, std::string_view payload = {}) {
    std::string out;
    wire::append_tunnel_frame(out, kind, channel, payload);
    return out;
}

// Each piece as text, data joined; the error at the end, if there is one.
std::string read_in_pieces(const std::string& bytes, std::size_t size) {
    wire::TunnelDecoder decoder;
    std::string seen;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
        auto part = std::string_view(bytes).substr(at, size);
        while (true) {
            const auto piece = decoder.next(part);
            if (!piece) {
                return seen + "error: " + piece.error().message;
            }
            if (!*piece) {
                break;
            }
            if ((*piece)->kind == TunnelKind::data) {
                seen += (*piece)->bytes;
            } else {
                seen += "<" + std::string(1, static_cast<char>((*piece)->kind)) +
                        std::to_string((*piece)->channel) + ":" + std::string((*piece)->bytes) + ">";
            }
        }
        CHECK(part.empty());
    }
    return seen;
}

} // namespace

TEST_CASE("the frames' bytes are those of the protocol") {
    CHECK(frame(TunnelKind::data, 0x01020304, "ab") == "D\4\3\2\1\2\0\0\0ab"s);
    CHECK(frame(TunnelKind::hello, 0) == "H\0\0\0\0\0\0\0\0"s);
}

TEST_CASE("frames come out in whatever pieces they go in, and data as it comes") {
    const auto bytes = frame(TunnelKind::hello, 0) + frame(TunnelKind::open, 1, R"({"port":1})") +
                       frame(TunnelKind::data, 1, "some\0bytes"s) +
                       frame(TunnelKind::window, 1, "\1\0\0\0"s) + frame(TunnelKind::end, 1) +
                       frame(TunnelKind::reset, 7) + frame(TunnelKind::ping, 0);
    const auto whole = read_in_pieces(bytes, bytes.size());
    CHECK(whole == "<H0:><O1:{\"port\":1}>some\0bytes<W1:\1\0\0\0><E1:><R7:><P0:>"s);
    for (std::size_t size = 1; size < bytes.size(); ++size) {
        CHECK(read_in_pieces(bytes, size) == whole);
    }
}

TEST_CASE("what is no frame is an error, and stays one") {
    for (const auto& bytes :
         {"X\0\0\0\0\0\0\0\0"s, "dockdist-init"s, "D\1\0\0\0\0\0\0\0"s, "D\1\0\0\0\1\0\4\0"s,
          "W\1\0\0\0\3\0\0\0abc"s, "H\0\0\0\0\1\0\0\0x"s, "O\1\0\0\0\1\x10\0\0"s}) {
        wire::TunnelDecoder decoder;
        std::string_view input = bytes;
        const auto piece = decoder.next(input);
        CAPTURE(bytes);
        REQUIRE_FALSE(piece.has_value());
        CHECK(piece.error().kind == ErrorKind::protocol);
        std::string_view sound = "P\0\0\0\0\0\0\0\0";
        CHECK_FALSE(decoder.next(sound).has_value());
    }
}

TEST_CASE("what a tunnel asks for, leads to and fails with survives the way") {
    CHECK(wire::parse_tunnel_ask(wire::tunnel_ask({.lease_ms = 30000}))->lease_ms == 30000);
    CHECK_FALSE(wire::parse_tunnel_ask(R"({"lease_ms":0})").has_value());
    CHECK_FALSE(wire::parse_tunnel_ask(wire::tunnel_ask({.lease_ms = 1}))->on_host);
    const auto on_host =
        wire::parse_tunnel_ask(wire::tunnel_ask({.lease_ms = 1, .on_host = true, .own_peers = true}));
    CHECK((on_host->on_host && on_host->own_peers));
    const wire::TunnelTarget socket{.host = "/run/docker.sock"};
    CHECK(*wire::parse_tunnel_target(wire::tunnel_target(socket)) == socket);
    const wire::TunnelTarget target{.host = "db.internal", .port = 5432};
    CHECK(*wire::parse_tunnel_target(wire::tunnel_target(target)) == target);
    for (const auto* text : {"", "{}", R"({"port":0})", R"({"port":65536})", R"({"port":"1"})",
                             R"({"host":"a\u0000b","port":1})", R"({"host":"/run/docker.sock","port":1})",
                             R"({"host":"/run/docker.sock"})", R"({"host":"run/docker.sock","port":0})"}) {
        CAPTURE(text);
        CHECK_FALSE(wire::parse_tunnel_target(text).has_value());
    }
    CHECK_FALSE(
        wire::parse_tunnel_target(R"({"port":1,"host":")" + std::string(256, 'a') + "\"}").has_value());
    CHECK_FALSE(
        wire::parse_tunnel_target(R"({"port":0,"host":"/)" + std::string(107, 'a') + "\"}").has_value());
    const wire::TunnelFailure failure{.kind = wire::TunnelFailure::Kind::unknown_name,
                                      .message = "\xff no such"};
    CHECK(wire::parse_tunnel_failure(wire::tunnel_failure(failure))->kind == failure.kind);
    CHECK(wire::parse_tunnel_failure(R"({"kind":"of tomorrow","message":"m"})")->kind ==
          wire::TunnelFailure::Kind::other);
    const auto longest = wire::tunnel_failure({.message = std::string(100000, '\x01')});
    CHECK(longest.size() <= wire::max_tunnel_text);
}

} // namespace tunnel_test
