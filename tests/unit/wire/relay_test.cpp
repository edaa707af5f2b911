#include "shared/wire/relay.hpp"

#include <doctest/doctest.h>

#include <string>

namespace relay_test {

using namespace dockdist;
using namespace dockdist::wire;

namespace {

const std::string digest = "sha256:e90cc07386f304468c5d489c615f31fd21c13fee3175e0fadc2f0ed66bc52d5b";
const std::string key(64, 'a');

} // namespace

TEST_CASE("what the client and a relay say arrives as it was meant") {
    const RelayOpening opening{.token = "t0ken",
                               .address = "10.0.0.1",
                               .interface = "ib0",
                               .subnets = {"10.1.0.0/16"},
                               .most_ahead = 7};
    CHECK(*parse_relay_opening(to_line(opening)) == opening);
    const RelayImage image{
        .manifest = "{\"schemaVersion\":2}", .media_type = "application/x", .blobs = {{digest, 7, 3}}};
    CHECK(*parse_relay_image(to_line(image)) == image);
    const RelayMessage listening{.engine_port = 4000, .address = "10.0.0.1", .peer_port = 4001};
    CHECK(*parse_relay_message(to_line(listening)) == listening);
    using Type = RelayMessage::Type;
    for (const RelayMessage& message :
         {RelayMessage{.type = Type::want, .want = {.digest = digest, .offset = 3}},
          RelayMessage{.type = Type::want, .want = {.first = 4, .count = 2, .offset = 3}},
          RelayMessage{.type = Type::digest, .digest = {.file = 7, .digest = digest}},
          RelayMessage{.type = Type::digest, .digest = {.file = 7}},
          RelayMessage{.type = Type::progress, .bytes = 9},
          RelayMessage{.type = Type::lost, .file = 3, .text = "a\xff: no space", .hint = "make room"},
          RelayMessage{.type = Type::done}}) {
        CHECK(*parse_relay_message(to_line(message)) == message);
    }
    const RelayOpening tree{.address = "10.0.0.1", .tree = true, .origin = true};
    CHECK(*parse_relay_opening(to_line(tree)) == tree);
    const RelayFiles files{.files = {{.number = 3, .name = "a/\xff", .size = 7, .mode = 0640, .time_ns = -1}},
                           .last = true};
    CHECK(*parse_relay_files(to_line(files)) == files);
    CHECK(*parse_relay_digest(to_line(RelayDigest{3, digest})) == RelayDigest{3, digest});
    const RelayRequest run{.first = 4, .count = 2, .offset = 7};
    CHECK(*parse_relay_request(to_line(run)) == run);
    CHECK(*parse_relay_piece(to_line(RelayPiece{digest, 5})) == RelayPiece{digest, 5});
    const RelayPiece ahead{.length = 5, .file = 3};
    CHECK(*parse_relay_piece(to_line(ahead)) == ahead);
    const RelayPeers peers{.upstreams = {{.asking = 2, .key = key, .address = "10.0.0.1 4001"}},
                           .downstreams = {{.asking = 3, .key = key}, {.asking = 4, .key = key}}};
    CHECK(*parse_relay_peers(to_line(peers)) == peers);
    const RelayRequest request{.digest = digest, .offset = 7};
    CHECK(*parse_relay_request(to_line(request)) == request);
    CHECK(*parse_relay_request(to_line(RelayRequest{})) == RelayRequest{}); // what comes ahead
}

TEST_CASE("what is no such line is refused, and no digest becomes a path") {
    for (const char* line :
         {"", "[]", "{", "{\"type\":\"listening\"}",
          "{\"type\":\"listening\",\"engine_port\":70000,\"peer_port\":70000}",
          "{\"type\":\"want\",\"digest\":\"sha256:../../etc/passwd\"}", "{\"type\":\"want\",\"digest\":7}",
          "{\"type\":\"else\"}", "{\"type\":\"want\",\"offset\":0}", "{\"type\":\"digest\"}",
          R"({"type":"want","first":1,"count":9999,"offset":0})",
          R"({"type":"want","first":-1,"count":1,"offset":0})", R"({"type":"digest","of":1,"digest":"x"})"}) {
        CAPTURE(line);
        CHECK(parse_relay_message(line).has_error());
    }
    for (const char* line :
         {"", "[]", "{}", R"({"token":""})", R"({"token":3})", R"({"token":"t","most_ahead":-1})"}) {
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
    for (const std::string& line :
         {std::string("{}"), std::string(R"({"upstreams":[1],"downstreams":[]})"),
          std::string(R"({"upstreams":[]})"), std::string(R"({"upstreams":[{"asking":1}],"downstreams":[]})"),
          R"({"upstreams":[{"asking":-1,"key":")" + key + R"("}],"downstreams":[]})",
          R"({"upstreams":[],"downstreams":[{"asking":1,"key":"z)" + key.substr(1) + R"("}]})"}) {
        CAPTURE(line);
        CHECK(parse_relay_peers(line).has_error());
    }
    for (const char* line :
         {"{}", R"({"files":3})", R"({"files":[{"number":1,"name":"../x","size":1}]})",
          R"({"files":[{"number":1,"name":"/x","size":1}]})",
          R"({"files":[{"number":1,"name":"a","size":-1}]})",
          R"({"files":[{"number":1,"name":"a","mode":2541}]})", R"({"files":[{"number":-1,"name":"a"}]})",
          R"({"files":[{"number":1,"name":"a/.dockdist-data-x"}]})"}) {
        CAPTURE(line);
        CHECK(parse_relay_files(line).has_error());
    }
    for (const std::string& line : {std::string("{}"), std::string(R"({"digest":"sha256:../x"})"),
                                    R"({"digest":")" + digest + R"(","offset":-1})"}) {
        CAPTURE(line);
        CHECK(parse_relay_request(line).has_error());
    }
    CHECK_FALSE(is_sha256_digest("sha256:" + std::string(64, 'G')));
    CHECK_FALSE(is_sha256_digest("sha256:" + std::string(63, 'a')));
    CHECK_FALSE(is_sha256_digest("sha512:" + std::string(64, 'a')));
}

} // namespace relay_test
