#include "fakes/damage.hpp"
#include "node/relay/relay_http.hpp"
#include "node/system/secret.hpp"

#include <doctest/doctest.h>

#include <string>

namespace relay_http_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

const std::string blob_head = "GET /v2/dockdist/image/blobs/sha256:00 HTTP/1.1\r\nHost: x\r\n"
                              "authorization: Basic abc\r\nRANGE: bytes=12-\r\n\r\n";

std::string head_with(const std::string& login) {
    return "GET /v2/ HTTP/1.1\r\nHost: x\r\nAuthorization: " + login + "\r\n\r\n";
}

} // namespace

TEST_CASE("a request's head: method, path, login and where to begin") {
    auto bytes = blob_head + "next";
    const auto taken = take_relay_http(bytes);
    REQUIRE((taken.has_value() && taken->has_value()));
    const auto& request = **taken;
    CHECK(request.wants_body);
    CHECK(request.keep_alive);
    CHECK(request.authorization == "Basic abc");
    CHECK(request.offset == 12);
    CHECK(bytes == "next");
    CHECK(blob_in_path(request.path) == "sha256:00");
    CHECK(blob_in_path("/v1/blobs/x") == "");
    CHECK(is_manifest_path("/v2/dockdist/image/manifests/sha256:00"));
    CHECK_FALSE(is_manifest_path("/v2/"));
    std::string last = "HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    const auto closing = take_relay_http(last);
    REQUIRE((closing.has_value() && closing->has_value()));
    CHECK_FALSE((*closing)->wants_body);
    CHECK_FALSE((*closing)->keep_alive);
}

TEST_CASE("a head that is not whole yet is waited for, one that is too long is not") {
    for (std::size_t size = 0; size < blob_head.size(); ++size) {
        CAPTURE(size);
        auto bytes = blob_head.substr(0, size);
        const auto taken = take_relay_http(bytes);
        REQUIRE(taken.has_value());
        CHECK_FALSE(taken->has_value());
        CHECK(bytes.size() == size);
    }
    for (const auto* begin : {"GET / HTTP/1.1\r\nX: ", "GET /", "\r\n\r\n\r\n", ""}) {
        CAPTURE(begin);
        auto bytes = begin + std::string(17 << 10, 'x');
        CHECK(take_relay_http(bytes).has_error());
        auto whole = begin + std::string(17 << 10, 'x') + "\r\n\r\n";
        CHECK(take_relay_http(whole).has_error());
    }
}

TEST_CASE("what is no request is refused") {
    for (const std::string head :
         {"GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nbad\r\n\r\n",
          "GET / HTTP/1.1\r\nRange: bytes=-5\r\n\r\n", "GET / HTTP/1.1\r\nRange: items=1-\r\n\r\n",
          "GET / HTTP/1.1\r\nRange: b\r\n\r\n", "GET / HTTP/1.1\r\nRange: bytes=1\r\n\r\n",
          "GET / HTTP/1.1\r\nRange: bytes=1-5\r\n\r\n",
          "GET / HTTP/1.1\r\nRange: bytes=99999999999999999999-\r\n\r\n",
          "PUT / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
          "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "\x16\x03\x01\x02"}) {
        CAPTURE(head);
        auto bytes = head;
        CHECK(take_relay_http(bytes).has_error());
    }
}

TEST_CASE("damaged heads end in a request or in none") {
    const std::string digest = "sha256:" + std::string(64, 'a');
    const auto head = "GET /v2/dockdist/image/blobs/" + digest + " HTTP/1.1\r\nHost: 10.0.0.1:4000\r\n" +
                      "Authorization: Basic ZG9ja2Rpc3Q6dG9r\r\nRange: bytes=12-\r\n\r\n";
    Damage damage;
    int whole = 0;
    for (int i = 0; i < 6000; ++i) {
        auto bytes = damage.apply(head);
        const auto request = take_relay_http(bytes);
        if (request && *request) {
            ++whole;
            CHECK((*request)->offset >= 0);
            (void)is_manifest_path((*request)->path);
            (void)blob_in_path((*request)->path);
        }
    }
    CHECK(whole > 0);
}

TEST_CASE("an engine is let in with the login, on the connection on which it was refused before") {
    EngineStranger stranger(relay_authorization("t0ken"));
    std::string answer;
    CHECK(stranger.hear("GET /v2/ HTTP/1.1\r\nHo", answer) == Stranger::Verdict::unknown);
    CHECK(answer.empty());
    CHECK(stranger.hear("st: x\r\n\r\n", answer) == Stranger::Verdict::unknown);
    CHECK(answer == relay_refusal());
    CHECK(answer.starts_with("HTTP/1.1 401 "));
    for (const auto* token : {"", "t0ke", "t0kenn", "T0ken"}) {
        answer.clear();
        CHECK(stranger.hear(head_with(relay_authorization(token)), answer) == Stranger::Verdict::unknown);
        CHECK(answer == relay_refusal());
    }
    answer.clear();
    CHECK(stranger.hear(head_with(relay_authorization("t0ken")) + "more", answer) ==
          Stranger::Verdict::let_in);
    CHECK(answer.empty());
    CHECK(stranger.request().path == "/v2/");
    CHECK(stranger.rest() == "more");
}

TEST_CASE("a TLS hello is answered as plain HTTP would be, so that whoever said it goes on to that") {
    for (const std::string hello : {"\x16", "\x16\x03\x01\x02"}) {
        std::string answer;
        CHECK(EngineStranger(relay_authorization("t0ken")).hear(hello, answer) ==
              Stranger::Verdict::send_away);
        CHECK(answer == "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    }
}

TEST_CASE("the login is Basic of the relays' user") {
    CHECK(relay_authorization("t0ken") == "Basic ZG9ja2Rpc3Q6dDBrZW4=");
    CHECK(same_secret("abc", "abc"));
    CHECK(same_secret("", ""));
    CHECK_FALSE(same_secret("abc", "abd"));
    CHECK_FALSE(same_secret("abc", "abcd"));
    CHECK_FALSE(same_secret("", "a"));
}

} // namespace relay_http_test
