#include "client/engine/http/response_parser.hpp"
#include "fakes/show.hpp"

#include <doctest/doctest.h>

namespace response_parser_test {

using namespace dockdist;

namespace {

constexpr std::uint64_t limit = 1000;

std::string error_of(std::string_view bytes) {
    ResponseParser parser(limit);
    const auto fed = parser.feed(bytes);
    return fed ? std::string("none") : to_text(fed.error());
}

} // namespace

TEST_CASE("a response fed byte by byte is the same response") {
    const std::string bytes =
        "HTTP/1.1 409 Conflict\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        "3\r\nabc\r\n2;name=value\r\nde\r\n0\r\n\r\n";
    ResponseParser parser(limit);
    for (const char byte : bytes) {
        CHECK_FALSE(parser.done());
        REQUIRE(parser.feed(std::string_view(&byte, 1)));
    }
    CHECK(parser.done());
    CHECK(parser.status() == 409);
    CHECK(find_header(parser.headers(), "content-type") == "text/plain");
    CHECK(parser.take_body() == "abcde");
    CHECK(parser.keep_alive());
}

TEST_CASE("an empty chunked body may come in pieces of any size") {
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const std::string body : {"0\r\n\r\n", "0\r\nA: b\r\n\r\n"}) {
        for (std::size_t cut = 0; cut < body.size(); ++cut) {
            ResponseParser parser(limit);
            REQUIRE(parser.feed(head + body.substr(0, cut)));
            for (const char byte : body.substr(cut)) {
                CHECK_FALSE(parser.done());
                REQUIRE(parser.feed(std::string_view(&byte, 1)));
            }
            CHECK(parser.done());
        }
    }
}

TEST_CASE("what follows a response is left for the next one") {
    ResponseParser parser(limit);
    REQUIRE(parser.feed("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200"));
    CHECK(parser.done());
    CHECK(parser.take_rest() == "HTTP/1.1 200");
}

TEST_CASE("bytes that come with a 101 are left for the stream") {
    ResponseParser parser(std::nullopt);
    REQUIRE(parser.feed("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n\x01\x02"));
    CHECK(parser.done());
    CHECK(parser.take_rest() == "\x01\x02");
}

TEST_CASE("a body without length ends with the connection") {
    ResponseParser parser(limit);
    REQUIRE(parser.feed("HTTP/1.1 200 OK\r\n\r\nall of it"));
    CHECK_FALSE(parser.done());
    REQUIRE(parser.feed_end());
    CHECK(parser.done());
    CHECK(parser.take_body() == "all of it");
    CHECK_FALSE(parser.keep_alive());
}

TEST_CASE("a body that ends before its length is cut short") {
    ResponseParser parser(limit);
    REQUIRE(parser.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"));
    CHECK(parser.feed_end().error().message ==
          "the engine's answer was cut short: the connection closed in the middle of it");
}

TEST_CASE("a body over the limit is refused before it is read") {
    CHECK(error_of("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n") == "the engine's answer is too large");
}

TEST_CASE("a chunked body over the limit is refused") {
    CHECK(error_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n") ==
          "the engine's answer is too large");
}

TEST_CASE("a header over 64 KiB is refused") {
    CHECK(error_of("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x') + "\r\n\r\n") ==
          "the header of the engine's answer is larger than 64 KiB");
}

TEST_CASE("the extension of a chunk cannot grow without end") {
    ResponseParser parser(std::nullopt);
    REQUIRE(parser.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;"));
    Status fed = ok;
    for (int i = 0; i < 100 && fed; ++i) {
        fed = parser.feed(std::string(1000, 'x'));
    }
    CHECK_FALSE(fed);
}

TEST_CASE("a TLS alert is told as what it is") {
    CHECK(error_of(std::string("\x15\x03\x01\x00\x02\x02\x50", 7))
              .find("the engine speaks TLS, but was contacted without it") == 0);
}

TEST_CASE("an ssh server is told as what it is") {
    CHECK(error_of("SSH-2.0-OpenSSH_9.2\r\n").find("an ssh server answers there") == 0);
}

TEST_CASE("what is no HTTP is refused at its first byte, with its beginning in the message") {
    CHECK(error_of("\x1b[31m220 smtp") == "what answers there does not speak HTTP, so it is "
                                          "not a Docker engine (it began with '\\x1b[31m220 smtp')\n"
                                          "  check the address and the port");
}

TEST_CASE("no sequence of bytes after a status line breaks the parser") {
    std::uint32_t random = 12345;
    for (int round = 0; round < 2000; ++round) {
        ResponseParser parser(limit);
        std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: "
                            "5\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
        for (int change = 0; change < 4; ++change) {
            random = random * 1664525U + 1013904223U;
            bytes[(random >> 8U) % bytes.size()] = static_cast<char>(random >> 24U);
        }
        for (std::size_t at = 0; at < bytes.size(); at += 3) {
            if (!parser.feed(std::string_view(bytes).substr(at, 3))) {
                break;
            }
        }
        (void)parser.feed_end();
    }
    CHECK(true);
}

} // namespace response_parser_test
