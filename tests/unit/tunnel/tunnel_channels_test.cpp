#include "shared/tunnel/tunnel_channels.hpp"
#include "shared/wire/little_endian.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace tunnel_channels_test {

using namespace dockdist;
using Kind = TunnelChannels::Event::Kind;
using wire::TunnelKind;

namespace {

// Both ends, and what each was told, as text.
struct Pair {
    TunnelChannels client{TunnelChannels::Side::client};
    TunnelChannels node{TunnelChannels::Side::node};
    std::string at_client{}, at_node{};
    std::string data{}; // that came to the node

    static std::string show(const TunnelChannels::Event& event) {
        static constexpr const char* names[] = {"hello", "open",   "accepted", "failed",
                                                "data",  "window", "end",      "gone"};
        auto text = std::string(names[static_cast<int>(event.kind)]) + std::to_string(event.channel);
        if (event.kind == Kind::data) {
            text += ":" + std::string(event.bytes.substr(0, 8));
        }
        return text + " ";
    }
    void pass() {
        while (client.waiting() + node.waiting() > 0) {
            REQUIRE(node.take(client.take_output(),
                              [&](const auto& event) {
                                  at_node += show(event);
                                  data += event.bytes;
                              })
                        .has_value());
            REQUIRE(client.take(node.take_output(), [&](const auto& event) { at_client += show(event); })
                        .has_value());
        }
    }
    ChannelId open() {
        const auto id = client.open({.port = 80});
        pass();
        node.accept(id);
        pass();
        at_client.clear();
        at_node.clear();
        return id;
    }
};

Pair greeted() {
    Pair pair;
    pair.node.hello();
    pair.pass();
    return pair;
}

std::string frame(TunnelKind kind, ChannelId id, std::string_view payload = {}) {
    std::string out;
    wire::append_tunnel_frame(out, kind, id, payload);
    return out;
}

std::string window(std::uint32_t more) {
    std::string payload;
    wire::put_little_endian(payload, more);
    return payload;
}

void refuses(TunnelChannels& side, const std::string& bytes) {
    CAPTURE(bytes.substr(0, 40));
    const auto taken = side.take(bytes, [](const auto&) {});
    REQUIRE_FALSE(taken.has_value());
    CHECK(taken.error().kind == ErrorKind::protocol);
}

} // namespace

TEST_CASE("a connection is opened, speaks both ways, and ends one way after the other") {
    auto pair = greeted();
    CHECK(pair.at_client == "hello0 ");
    const auto id = pair.client.open({.host = "db", .port = 5432});
    CHECK(pair.client.room(id) == 0);
    pair.pass();
    CHECK(pair.at_node == "open1 ");
    pair.node.accept(id);
    pair.pass();
    CHECK(pair.client.room(id) == wire::first_tunnel_window);
    pair.client.send(id, "request");
    pair.client.end(id);
    pair.pass();
    CHECK(pair.at_node == "open1 data1:request end1 ");
    CHECK(pair.client.room(id) == 0);
    pair.node.send(id, "answer");
    pair.node.end(id);
    CHECK_FALSE(pair.node.has(id));
    pair.pass();
    CHECK(pair.at_client == "hello0 accepted1 data1:answer end1 ");
    CHECK(pair.client.count() + pair.node.count() == 0);
}

TEST_CASE("what cannot be connected is told, and its number does not come again") {
    auto pair = greeted();
    const auto id = pair.client.open({.port = 81});
    pair.pass();
    pair.node.fail(id, {.kind = wire::TunnelFailure::Kind::refused, .message = "refused"});
    pair.pass();
    CHECK(pair.at_client == "hello0 failed1 ");
    CHECK(pair.client.open({.port = 81}) == id + 1);
}

TEST_CASE("a reader that stands still gets its window's bytes and no more, and holds up no other") {
    auto pair = greeted();
    const auto slow = pair.open();
    const auto other = pair.open();
    const std::string all(wire::first_tunnel_window, 'x');
    pair.client.send(slow, all);
    pair.pass();
    CHECK(pair.data.size() == wire::first_tunnel_window);
    CHECK(pair.client.room(slow) == 0);
    CHECK(pair.client.room(other) == wire::first_tunnel_window);
    pair.node.consumed(slow, 1000, false); // not worth a frame yet
    pair.pass();
    CHECK(pair.client.room(slow) == 0);
    pair.node.consumed(slow, wire::first_tunnel_window - 1000, false);
    pair.pass();
    CHECK(pair.client.room(slow) == wire::first_tunnel_window);
}

TEST_CASE("a reader that keeps up gets a window that grows to its limit, all of them together to another") {
    auto pair = greeted();
    std::vector<ChannelId> ids;
    std::uint64_t together = 0;
    for (int i = 0; i < 10; ++i) {
        ids.push_back(pair.open());
        for (int round = 0; round < 8; ++round) {
            const auto room = pair.client.room(ids.back());
            pair.client.send(ids.back(), std::string(room, 'x'));
            pair.pass();
            pair.data.clear();
            pair.node.consumed(ids.back(), room, true);
            pair.pass();
        }
        CHECK(pair.client.room(ids.back()) <= largest_tunnel_window);
        together += pair.client.room(ids.back());
    }
    CHECK(pair.client.room(ids.front()) == largest_tunnel_window);
    CHECK(together <= most_tunnel_growth + ids.size() * wire::first_tunnel_window);
    // What one that is over had is another's.
    pair.client.reset(ids.front());
    pair.pass();
    const auto next = pair.open();
    for (int round = 0; round < 8; ++round) {
        const auto room = pair.client.room(next);
        pair.client.send(next, std::string(room, 'x'));
        pair.pass();
        pair.node.consumed(next, room, true);
        pair.pass();
    }
    CHECK(pair.client.room(next) > wire::first_tunnel_window);
}

TEST_CASE("frames of a connection that was given up meanwhile mean nothing") {
    auto pair = greeted();
    const auto id = pair.open();
    pair.node.send(id, "late");
    pair.node.end(id);
    pair.client.reset(id); // before it has heard that
    pair.pass();
    CHECK(pair.at_client.empty());
    CHECK(pair.at_node == "gone1 ");
    pair.client.send(id, "x");
    pair.client.end(id);
    pair.client.consumed(id, 5, true);
    CHECK(pair.client.waiting() == 0);
}

TEST_CASE("a ping is answered, unless something is on its way anyway") {
    auto pair = greeted();
    pair.client.ping();
    CHECK_FALSE(pair.client.answered());
    REQUIRE(pair.node.take(pair.client.take_output(), [](const auto&) {}).has_value());
    CHECK(pair.node.waiting() == wire::tunnel_header_size);
    REQUIRE(pair.node.take(frame(TunnelKind::ping, 0) + frame(TunnelKind::ping, 0), [](const auto&) {})
                .has_value());
    CHECK(pair.node.waiting() == wire::tunnel_header_size);
    pair.pass();
    CHECK(pair.client.answered());
    CHECK(pair.client.waiting() == 0);
    CHECK(pair.at_client == "hello0 ");
}

TEST_CASE("a node that breaks the rules ends the tunnel") {
    for (const auto& bytes : {
             frame(TunnelKind::hello, 0),                                 // twice
             frame(TunnelKind::open, 2, R"({"port":1})"),                 // the client's
             frame(TunnelKind::data, 9, "x"),                             // of a channel that never was
             frame(TunnelKind::accept, 0),                                // of none
             frame(TunnelKind::accept, 1),                                // again
             frame(TunnelKind::fail, 1, "{}"),                            // after it was accepted
             frame(TunnelKind::window, 1, window(0)),                     //
             frame(TunnelKind::end, 1) + frame(TunnelKind::end, 1),       //
             frame(TunnelKind::end, 1) + frame(TunnelKind::data, 1, "x"), //
             frame(TunnelKind::data, 1, std::string(wire::first_tunnel_window + 1, 'x')), // above its window
         }) {
        auto pair = greeted();
        (void)pair.open();
        refuses(pair.client, bytes);
    }
    auto pair = greeted();
    (void)pair.client.open({.port = 1});
    refuses(pair.client, frame(TunnelKind::data, 1, "x")); // before it was accepted
    auto mute = Pair{};
    (void)mute.client.open({.port = 1});
    refuses(mute.client, frame(TunnelKind::accept, 1)); // before its first word
    auto early = Pair{};
    refuses(early.client, frame(TunnelKind::ping, 0)); // the same
    auto generous = greeted();
    (void)generous.open();
    refuses(generous.client, frame(TunnelKind::window, 1, window(0xFFFFFFFF)) +
                                 frame(TunnelKind::window, 1, window(0xFFFFFFFF)));
}

TEST_CASE("a client that breaks the rules ends the tunnel") {
    for (const auto& bytes :
         {frame(TunnelKind::open, 2, R"({"port":1})"), frame(TunnelKind::open, 1, "no json"),
          frame(TunnelKind::open, 1, R"({"port":0})"), frame(TunnelKind::accept, 1),
          frame(TunnelKind::hello, 0), frame(TunnelKind::data, 1, "x"),
          frame(TunnelKind::open, 1, R"({"port":1})") + frame(TunnelKind::data, 1, "x")}) {
        TunnelChannels node(TunnelChannels::Side::node);
        refuses(node, bytes);
    }
}

TEST_CASE("there are so many connections, and one more is told so") {
    TunnelChannels node(TunnelChannels::Side::node);
    std::size_t opened = 0;
    for (ChannelId id = 1; id <= most_channels + 1; ++id) {
        REQUIRE(node.take(frame(TunnelKind::open, id, R"({"port":1})"), [&](const auto&) { ++opened; })
                    .has_value());
    }
    CHECK(opened == most_channels);
    CHECK(node.take_output().find("too_many") != std::string::npos);
    CHECK(node.count() == most_channels);
}

} // namespace tunnel_channels_test
