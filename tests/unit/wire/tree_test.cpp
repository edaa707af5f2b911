#include "shared/wire/tree.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tree_test {

using namespace dockdist;
using namespace dockdist::wire;
using Kind = SyncMessage::Kind;

namespace {

SyncMessage one_of(const std::string& bytes) {
    SyncDecoder decoder;
    decoder.feed(bytes);
    auto message = decoder.next();
    REQUIRE(message.has_value());
    REQUIRE(message->has_value());
    return **message;
}

std::string encoded(const SyncMessage& message) {
    std::string bytes;
    append(bytes, message);
    return bytes;
}

} // namespace

TEST_CASE("names that lead out of a tree are no names") {
    for (const auto* name : {"a", "a/b", "..a", "a..", "...", ".hidden/x", "a b\n"}) {
        CHECK_MESSAGE(is_tree_name(name), name);
    }
    for (const auto* name :
         {"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/..", "a/../b", "a/./b", "./a"}) {
        CHECK_MESSAGE(!is_tree_name(name), name);
    }
    CHECK(!is_tree_name(std::string("a\0b", 3)));
    CHECK(!is_tree_name(std::string(256, 'x')));
    CHECK(!is_tree_name(std::string(250, 'x') + std::string(4000, '/')));
}

TEST_CASE("links stay in their tree when they go up by no more than there is, and only at first") {
    CHECK(stays_in_tree("l", "a"));
    CHECK(stays_in_tree("l", "./a/b"));
    CHECK(stays_in_tree("a/l", "../b"));
    CHECK(stays_in_tree("a/b/l", "../../c"));
    CHECK(!stays_in_tree("l", "../a"));
    CHECK(!stays_in_tree("a/l", "../../b"));
    CHECK(!stays_in_tree("l", "/etc/passwd"));
    CHECK(!stays_in_tree("a/b/l", "m/../../.."));
    CHECK(!stays_in_tree("a/b/l", "m/../x")); // where `m` is a link, that may be anywhere
    CHECK(!stays_in_tree("l", ""));
}

TEST_CASE("a message comes back as it was, in pieces of any size") {
    const SyncMessage message{.kind = Kind::file,
                              .type = TreeEntry::Type::file,
                              .mode = 0755,
                              .size = 1ULL << 40U,
                              .time_ns = -5,
                              .name = "a/\xFF",
                              .text = std::string("x\0y", 3)};
    const auto bytes = encoded(message);
    CHECK(one_of(bytes) == message);
    SyncDecoder decoder;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        CHECK(!decoder.next()->has_value());
        decoder.feed(bytes.substr(i, 1));
    }
    CHECK(**decoder.next() == message);
    CHECK(!decoder.next()->has_value());
    std::string data;
    append_data(data, "content");
    CHECK(one_of(data) == SyncMessage{.kind = Kind::data, .text = "content"});
}

TEST_CASE("a message with a name that leads out is refused") {
    for (const auto* name : {"../x", "/etc/x", "a/../../x", "."}) {
        SyncDecoder decoder;
        decoder.feed(encoded({.kind = Kind::file, .name = name}));
        const auto message = decoder.next();
        REQUIRE(message.has_error());
        CHECK(message.error().kind == ErrorKind::protocol);
        CHECK(message.error().message.find("leads out") != std::string::npos);
    }
}

TEST_CASE("messages that are not of the protocol are refused") {
    const auto good = encoded({.kind = Kind::file, .name = "a"});
    const auto refused = [](std::string bytes) {
        SyncDecoder decoder;
        decoder.feed(bytes);
        return decoder.next().has_error();
    };
    auto kind = good;
    kind[4] = 'x';
    CHECK(refused(kind));
    auto type = good;
    type[5] = 'x';
    CHECK(refused(type));
    auto mode = good;
    mode[7] = '\x0f';
    CHECK(refused(mode)); // set-user-id and its kin
    auto name = good;
    name[26] = '\x7f';
    CHECK(refused(name)); // longer than the message
    CHECK(refused(std::string(4, '\xFF')));
    CHECK(refused(std::string(4, '\0')));
}

TEST_CASE("damaged streams end in an error or a message, never in a crash") {
    std::mt19937 random(7);
    std::string good;
    append(good, {.kind = Kind::folder, .mode = 0755, .name = "a"});
    append(good, {.kind = Kind::file, .mode = 0644, .size = 3, .name = "a/b"});
    append_data(good, "abc");
    append(good, {.kind = Kind::end_file, .size = 1});
    for (int round = 0; round < 20000; ++round) {
        auto bytes = good;
        for (int i = 0; i < 3; ++i) {
            bytes[random() % bytes.size()] = static_cast<char>(random());
        }
        bytes.resize(random() % (bytes.size() + 1));
        SyncDecoder decoder;
        decoder.feed(bytes);
        for (auto message = decoder.next(); message && *message; message = decoder.next()) {
            CHECK((message->value().name.empty() || is_tree_name(message->value().name)));
        }
    }
    for (const auto* text : {"", "{", "[]", "{\"user\":5}", "{\"workdir\":{\"hex\":\"zz\"}}"}) {
        CHECK(parse_sync_opening(text).has_error());
    }
    CHECK(parse_sync_opening(sync_opening({.user = "a\xFF", .workdir = "/w"}))->user == "a\xFF");
}

} // namespace tree_test
