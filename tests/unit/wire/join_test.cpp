#include "shared/wire/join.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace join_test {

using namespace dockdist;
using namespace dockdist::wire;
using nlohmann::json;

namespace {

NodeRecord record(const std::string& name, int rank) {
    return {.node = name,
            .rank = rank,
            .address = "10.0.0." + std::to_string(rank + 1),
            .interface = "eth0",
            .hostname = "host-" + std::to_string(rank),
            .host = "boot net:[" + std::to_string(rank) + "]",
            .ssh_port = 2222,
            .slots = 8,
            .gpus = 8,
            .user = "root",
            .user_key = "ssh-ed25519 AAAAuser",
            .host_key = "ssh-ed25519 AAAAhost",
            .clock_ms = 1700000000000};
}

} // namespace

TEST_CASE("a join request survives the way") {
    JoinRequest request{.cluster = "c",
                        .node = "node-1",
                        .rank = 1,
                        .address = "10.0.0.2",
                        .interface = "eth1",
                        .subnets = {"10.0.0.0/24", "fd00:1::/64"},
                        .derived = true,
                        .asked = "address gpu1, interface eth1",
                        .ssh_port = 2300,
                        .slots = 4,
                        .user = "1000:100",
                        .mounts = {"/data", "/odd \xff"},
                        .nodes = 64,
                        .nodes_beside = 8,
                        .ready_timeout_ms = 5000};
    const auto parsed = parse_join_request(json(request).dump());
    REQUIRE(parsed.has_value());
    CHECK(json(*parsed) == json(request));
}

TEST_CASE("what the file said of a node's place comes back with its record, and is bounded") {
    NodeRecord record{.node = "n", .asked = "interface eth1"};
    CHECK(parse_join_message(hello_line(record))->record.asked == "interface eth1");
    record.asked.assign(longest_asked + 1, 'x');
    CHECK(
        parse_join_message(hello_line(record)).error().message.find("\"asked\" must be 256 bytes at most") !=
        std::string::npos);
    const JoinRequest request{.cluster = "c", .node = "n", .asked = record.asked};
    CHECK(parse_join_request(json(request).dump()).has_error());
}

TEST_CASE("a request without what it must have names the key") {
    CHECK(parse_join_request(R"({"version":2,"cluster":"c"})").error().message ==
          "the join request: \"node\" is missing");
}

TEST_CASE("a wrong type names the key") {
    CHECK(parse_join_request(R"({"version":2,"cluster":"c","node":"n","rank":"1"})").error().message ==
          "the join request: \"rank\" must be an integer");
    CHECK(parse_join_request(R"({"version":2,"cluster":["c"],"node":"n"})").error().message ==
          "the join request: \"cluster\" must be a string");
}

TEST_CASE("a number beyond its type is refused") {
    CHECK_FALSE(
        parse_join_request(R"({"version":2,"cluster":"c","node":"n","rank":4294967296})").has_value());
    CHECK_FALSE(parse_join_request(R"({"version":2,"cluster":"c","node":"n","rank":18446744073709551615})")
                    .has_value());
    CHECK_FALSE(parse_join_request(R"({"version":2,"cluster":"c","node":"n","ssh_port":65536})").has_value());
}

TEST_CASE("subnets that are none, or too many, are refused") {
    const auto parsed = [](const json& subnets) {
        return parse_join_request(
            json{{"version", 2}, {"cluster", "c"}, {"node", "n"}, {"subnets", subnets}}.dump());
    };
    CHECK(parsed({"10.1.0.0/16"}).has_value());
    CHECK(parsed(json::array()).has_value());
    CHECK(parsed({"10.1.0.0"}).error().message ==
          "the join request: \"subnets\" must be networks in CIDR form, 64 at most");
    CHECK(parsed(json(std::vector<std::string>(65, "10.1.0.0/16"))).has_error());
    CHECK(parsed({7}).has_error());
}

TEST_CASE("another version of the protocol is refused") {
    const auto parsed = parse_join_request(R"({"version":3,"cluster":"c","node":"n"})");
    CHECK(parsed.error().message ==
          "the join request: it speaks version 3 of the protocol, this side version 2");
}

TEST_CASE("unknown keys are tolerated") {
    CHECK(parse_join_request(R"({"version":2,"cluster":"c","node":"n","later":[{}]})").has_value());
}

TEST_CASE("a hello carries the record") {
    const auto message = parse_join_message(hello_line(record("node-0", 0)));
    REQUIRE(message.has_value());
    CHECK(message->type == JoinMessage::Type::hello);
    CHECK(message->record == record("node-0", 0));
}

TEST_CASE("a notice of members survives the way, with its giver and without") {
    MembersNotice notice{
        .sha256 = std::string(64, 'a'), .first = 3, .giver = record("node-0", 0), .patience_ms = 700};
    for (const bool given : {true, false}) {
        const auto parsed = parse_members_notice(members_notice_line(notice));
        REQUIRE(parsed.has_value());
        CHECK(parsed->sha256 == notice.sha256);
        CHECK(parsed->first == 3);
        CHECK(parsed->patience_ms == 700);
        CHECK(parsed->giver.has_value() == given);
        CHECK(parsed->giver == notice.giver);
        notice.giver.reset();
    }
    CHECK(parse_members_notice(R"({"first":1})").error().message ==
          "the notice of members: \"sha256\" is missing");
    CHECK_FALSE(parse_members_notice(R"({"sha256":"a","giver":{}})").has_value());
    CHECK_FALSE(parse_members_notice(R"({"sha256":"a","first":0})").has_value());
}

TEST_CASE("what a node cannot reach comes with its error") {
    const std::vector<Unreached> unreached{{.node = "node-3", .cause = "Connection refused"},
                                           {.node = "node-9", .cause = "No route to host"}};
    const auto message = parse_join_message(error_line({ErrorKind::unreachable, "", "m", "h"}, unreached));
    REQUIRE(message.has_value());
    CHECK(message->error.message == "m");
    CHECK(message->unreached == unreached);
    CHECK(parse_join_message(want_line())->type == JoinMessage::Type::want);
}

TEST_CASE("the list of members keeps its order") {
    const Members members{.cluster = "c", .nodes = {record("node-0", 0), record("node-1", 1)}};
    const auto parsed = parse_members(members_list(members));
    REQUIRE(parsed.has_value());
    CHECK(parsed->cluster == "c");
    CHECK(parsed->nodes == members.nodes);
}

TEST_CASE("a member that is not an object is refused") {
    CHECK(parse_members(R"({"nodes":[1]})").error().message == "member 0: it must be an object");
    CHECK(parse_members(R"({"nodes":{}})").error().message ==
          "the list of members: \"nodes\" must be an array");
}

TEST_CASE("ready during join has no record, ready in the log has") {
    CHECK(parse_join_message(ready_line())->type == JoinMessage::Type::ready);
    const auto logged = parse_join_message(ready_record_line(record("node-0", 0), "abc"));
    REQUIRE(logged.has_value());
    CHECK(logged->record == record("node-0", 0));
    CHECK(logged->members_hash == "abc");
}

TEST_CASE("an error keeps all its parts") {
    const Error error{.kind = ErrorKind::conflict,
                      .where = "node-0",
                      .message = "port 2222 is busy",
                      .hint = "take another"};
    const auto message = parse_join_message(error_line(error));
    REQUIRE(message.has_value());
    CHECK(message->type == JoinMessage::Type::error);
    CHECK(message->error == error);
}

TEST_CASE("a line of another type is no error") {
    CHECK(parse_join_message(R"({"type":"starting"})")->type == JoinMessage::Type::other);
}

TEST_CASE("what is not JSON is a protocol error, with its bytes made visible") {
    const auto parsed = parse_join_message("exec failed\x1b[2J");
    CHECK(parsed.error().kind == ErrorKind::protocol);
    CHECK(parsed.error().message == "a line from the node is not JSON: exec failed\\x1b[2J");
}

TEST_CASE("the members' hash ignores clocks and nothing else") {
    Members members{.cluster = "c", .nodes = {record("node-0", 0), record("node-1", 1)}};
    const auto hash = members_hash(members);
    CHECK(hash.size() == 16);
    members.nodes[0].clock_ms = 1;
    CHECK(members_hash(members) == hash);
    members.nodes[1].host_key = "ssh-ed25519 AAAAother";
    CHECK(members_hash(members) != hash);
}

} // namespace join_test
