#include "wire/image_relay.hpp"

#include <doctest/doctest.h>

#include <string>

namespace image_relay_test {

using namespace dockdist;
using namespace dockdist::wire;

namespace {

const std::string digest = "sha256:e90cc07386f304468c5d489c615f31fd21c13fee3175e0fadc2f0ed66bc52d5b";

} // namespace

TEST_CASE("what the client and a relay say arrives as it was meant") {
    const RelayOpening opening{.token = "t0ken", .address = "10.0.0.1"};
    CHECK(*parse_relay_opening(to_line(opening)) == opening);
    const RelayImage image{
        .manifest = "{\"schemaVersion\":2}", .media_type = "application/x", .blobs = {{digest, 7, 3}}};
    CHECK(*parse_relay_image(to_line(image)) == image);
    const RelayMessage listening{.engine_port = 4000, .address = "10.0.0.1", .peer_port = 4001};
    CHECK(*parse_relay_message(to_line(listening)) == listening);
    const RelayMessage want{.type = RelayMessage::Type::want, .digest = digest, .offset = 3};
    CHECK(*parse_relay_message(to_line(want)) == want);
    CHECK(*parse_relay_piece(to_line(RelayPiece{digest, 5})) == RelayPiece{digest, 5});
    const RelayPiece ahead{.length = 5, .file = 3};
    CHECK(*parse_relay_piece(to_line(ahead)) == ahead);
    CHECK(*parse_upstreams(upstreams_line({"10.0.0.1 4001"})) == std::vector<std::string>{"10.0.0.1 4001"});
}

TEST_CASE("what is no such line is refused, and no digest becomes a path") {
    for (const char* line : {"", "[]", "{", "{\"type\":\"listening\"}",
                             "{\"type\":\"listening\",\"engine_port\":70000,\"peer_port\":70000}",
                             "{\"type\":\"want\",\"digest\":\"sha256:../../etc/passwd\"}",
                             "{\"type\":\"want\",\"digest\":7}", "{\"type\":\"else\"}"}) {
        CAPTURE(line);
        CHECK(parse_relay_message(line).has_error());
    }
    for (const char* line : {"", "[]", "{}", R"({"token":""})", R"({"token":3})"}) {
        CAPTURE(line);
        CHECK(parse_relay_opening(line).has_error());
    }
    for (const std::string& line :
         {std::string("{}"), std::string(R"({"manifest":"m","blobs":3})"),
          std::string(R"({"manifest":"m","blobs":[3]})"), std::string(R"({"manifest":"m"})"),
          R"({"manifest":"m","blobs":[{"digest":")" + digest + R"(","size":-1}]})",
          std::string(R"({"manifest":"m","blobs":[{"digest":"x"}]})")}) {
        CAPTURE(line);
        CHECK(parse_relay_image(line).has_error());
    }
    for (const char* line : {"{}", R"({"length":5})", R"({"file":-1,"length":5})", R"({"file":1})"}) {
        CAPTURE(line);
        CHECK(parse_relay_piece(line).has_error());
    }
    CHECK(parse_relay_piece("{\"digest\":\"" + digest + "\",\"length\":-1}").has_error());
    CHECK(parse_relay_piece("{\"digest\":\"" + digest + "\",\"length\":99999999999}").has_error());
    CHECK(parse_upstreams("{\"upstreams\":[1]}").has_error());
    CHECK_FALSE(is_sha256_digest("sha256:" + std::string(64, 'G')));
    CHECK_FALSE(is_sha256_digest("sha256:" + std::string(63, 'a')));
    CHECK_FALSE(is_sha256_digest("sha512:" + std::string(64, 'a')));
}

} // namespace image_relay_test
