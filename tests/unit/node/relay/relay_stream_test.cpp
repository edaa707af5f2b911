#include "fakes/damage.hpp"
#include "node/relay/relay_channel.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace relay_stream_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

const std::string hex(64, 'a');
const std::string other_hex(64, 'b');

// What one side wrote, frame by frame; the first has the stream's header before it.
std::vector<std::string> sealed(const RelayKey& key, const std::vector<std::string>& messages) {
    SealedWriter writer(key);
    std::vector<std::string> frames;
    for (const auto& message : messages) {
        frames.emplace_back();
        writer.seal(message, &message == &messages.back(), frames.back());
    }
    return frames;
}

// What is read of bytes that come in pieces of `size`: the messages, then "ended", "cut" or "refused".
std::vector<std::string> read_with(const RelayKey& key, const std::string& bytes, std::size_t size = 7) {
    SealedReader reader(key, largest_relay_message);
    std::vector<std::string> messages;
    for (std::size_t at = 0; at < bytes.size(); at += size) {
        reader.add(std::string_view(bytes).substr(at, size));
        for (auto message = reader.next(); !message || *message; message = reader.next()) {
            if (!message) {
                messages.emplace_back("refused");
                return messages;
            }
            messages.push_back(**message);
        }
    }
    messages.emplace_back(reader.ended() ? "ended" : "cut");
    return messages;
}

using Messages = std::vector<std::string>;

// A connection as both sides see it.
struct Connection {
    explicit Connection(const std::string& key = hex, int number = 3) {
        hello = relay_hello(number, relay_random());
        if (stranger.hear(hello, random) == Stranger::Verdict::unknown &&
            random.size() == relay_random_size) {
            keys = relay_stream_keys(relay_key(key), hello, random);
        }
    }
    Stranger::Verdict ask(const wire::RelayRequest& request) {
        sent.clear();
        SealedWriter(keys.asking).seal(wire::to_line(request), true, sent);
        return stranger.hear(sent, random);
    }
    RelayStranger::Keys known{{3, relay_key(hex)}, {4, relay_key(other_hex)}};
    RelayStranger stranger{known};
    std::string hello{}, random{}, sent{};
    RelayStreamKeys keys{};
};

} // namespace

TEST_CASE("what is sealed arrives, in whatever pieces it comes") {
    const auto key = relay_key(hex);
    const std::string large(largest_relay_message, 'x');
    const auto frames = sealed(key, {"one", "", large, "three"});
    std::string bytes;
    for (const auto& frame : frames) {
        bytes += frame;
    }
    CHECK(bytes.find(std::string(16, 'x')) ==
          std::string::npos); // three letters stand there by chance once in a while
    for (const std::size_t size : {1U, 7U, 65536U, 1000000U}) {
        CAPTURE(size);
        CHECK(read_with(key, bytes, size) == Messages{"one", "", large, "three", "ended"});
    }
}

TEST_CASE("a message that is left out, repeated, moved, cut or of another stream is refused") {
    const auto key = relay_key(hex);
    const auto a = sealed(key, {"one", "two", "three"});
    const auto b = sealed(key, {"one", "two", "three"});
    CHECK(read_with(key, a[0] + a[1] + a[2]) == Messages{"one", "two", "three", "ended"});
    CHECK(read_with(key, a[0] + a[2]) == Messages{"one", "refused"});
    CHECK(read_with(key, a[0] + a[2] + a[1]) == Messages{"one", "refused"});
    CHECK(read_with(key, a[0] + a[1] + a[1]) == Messages{"one", "two", "refused"});
    CHECK(read_with(key, a[0] + b[1]) == Messages{"one", "refused"});
    CHECK(read_with(key, a[0] + a[1]) == Messages{"one", "two", "cut"});
    CHECK(read_with(key, a[0] + a[1] + a[2].substr(0, a[2].size() - 1)) == Messages{"one", "two", "cut"});
    CHECK(read_with(key, a[0] + a[1] + a[2] + a[1]) == Messages{"one", "two", "three", "ended"}); // unread
    CHECK(read_with(relay_key(other_hex), a[0]) == Messages{"refused"});
    CHECK(read_with(key, a[0].substr(0, 24) + std::string(4, '\xff') + a[0].substr(28)) ==
          Messages{"refused"});
    CHECK(read_with(key, a[0].substr(0, 24) + std::string(4, '\0')) == Messages{"refused"});
}

TEST_CASE("damaged bytes give what was sealed before them, and nothing else") {
    const auto key = relay_key(hex);
    const Messages whole{"one", "two", "three"};
    const auto frames = sealed(key, whole);
    Damage damage;
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
        auto got = read_with(key, damage.apply(frames[0] + frames[1] + frames[2]), 64);
        refused += got.back() == "refused" ? 1 : 0;
        got.pop_back();
        REQUIRE(got.size() <= whole.size());
        CHECK(std::equal(got.begin(), got.end(), whole.begin()));
    }
    CHECK(refused > 0);
}

TEST_CASE("a relay that has the pair's key is let in") {
    Connection connection;
    const wire::RelayRequest request{.digest = "sha256:" + std::string(64, 'a'), .offset = 5};
    CHECK(connection.ask(request) == Stranger::Verdict::let_in);
    CHECK(connection.stranger.request() == request);
    std::string answer;
    connection.stranger.take_writer().seal("yes", true, answer);
    CHECK(read_with(connection.keys.asked, answer) == Messages{"yes", "ended"});
    CHECK(read_with(connection.keys.asking, answer) == Messages{"refused"}); // each way its own key
}

TEST_CASE("who has not the key of that pair is sent away") {
    CHECK(Connection(other_hex).ask({}) == Stranger::Verdict::send_away);
    CHECK(Connection(hex, 4).ask({}) == Stranger::Verdict::send_away); // known, as another
    Connection unknown(hex, 5);
    CHECK(unknown.random.empty()); // of no pair: not even an answer
    for (const auto& said :
         {std::string(relay_hello_size, 'x'), "GET /v2/ HTTP/1.1\r\nHost: x\r\n" + std::string(99, 'x')}) {
        const RelayStranger::Keys keys{{3, relay_key(hex)}};
        RelayStranger stranger(keys);
        std::string answer;
        CHECK(stranger.hear(said, answer) == Stranger::Verdict::send_away);
        CHECK(answer.empty());
    }
}

TEST_CASE("a recorded connection is of no use on another one, nor is what came back sent back") {
    Connection recorded;
    CHECK(recorded.ask({}) == Stranger::Verdict::let_in);
    Connection again;
    RelayStranger stranger(again.known);
    std::string random;
    CHECK(stranger.hear(recorded.hello, random) == Stranger::Verdict::unknown);
    CHECK(random.size() == relay_random_size);
    CHECK(stranger.hear(recorded.sent, random) == Stranger::Verdict::send_away);
    // Its own stream, to the one who sealed it.
    Connection reflected;
    std::string frame;
    SealedWriter(reflected.keys.asked).seal(wire::to_line(wire::RelayRequest{}), true, frame);
    CHECK(reflected.stranger.hear(frame, random) == Stranger::Verdict::send_away);
}

TEST_CASE("a request comes byte by byte, and is small") {
    Connection connection;
    std::string frame;
    SealedWriter(connection.keys.asking).seal(wire::to_line(wire::RelayRequest{}), true, frame);
    std::string answer;
    for (std::size_t i = 0; i + 1 < frame.size(); ++i) {
        REQUIRE(connection.stranger.hear(frame.substr(i, 1), answer) == Stranger::Verdict::unknown);
    }
    CHECK(connection.stranger.hear(frame.substr(frame.size() - 1), answer) == Stranger::Verdict::let_in);
    Connection large;
    std::string much;
    SealedWriter(large.keys.asking).seal(std::string(largest_relay_request + 1, ' '), true, much);
    CHECK(large.stranger.hear(much.substr(0, 28), answer) == Stranger::Verdict::send_away);
}

} // namespace relay_stream_test
