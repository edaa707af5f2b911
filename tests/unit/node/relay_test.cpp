#include "fakes/damage.hpp"
#include "node/relay_http.hpp"
#include "node/relay_store.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

using namespace dockdist;
using namespace dockdist::node;

namespace {

// printf hello | sha256sum
const std::string hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

struct Folder {
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "dockdist-relay-XXXXXX";
        path = ::mkdtemp(name.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string path{};
};

std::string read_all(RelayStore& store, int round = 0) {
    std::string text;
    while (true) {
        const auto bytes = store.read(hello, static_cast<std::int64_t>(text.size()), 2, round);
        if (bytes.empty()) {
            return text;
        }
        text += bytes;
    }
}

} // namespace

TEST_CASE("a blob is read while it grows, and one caller fetches it") {
    const Folder folder;
    RelayStore store(folder.path, {{hello, 5}});
    CHECK(store.claim(hello));
    CHECK_FALSE(store.claim(hello));
    std::string text;
    std::thread reader([&] { text = read_all(store); });
    CHECK(store.append(hello, "he").has_value());
    CHECK(store.append(hello, "llo").has_value());
    CHECK(store.whole(hello));
    store.give_up(hello);
    reader.join();
    CHECK(text == "hello");
    CHECK_FALSE(store.claim(hello)); // nothing is left to fetch
}

TEST_CASE("what is not as its digest says begins anew, and its readers are not fooled") {
    const Folder folder;
    RelayStore store(folder.path, {{hello, 5}});
    CHECK(store.claim(hello));
    CHECK(store.append(hello, "hel").has_value());
    CHECK(store.append(hello, "LO").has_error());
    CHECK(store.have(hello) == 0);
    CHECK_FALSE(store.whole(hello));
    CHECK(read_all(store, 0) == ""); // of the first try no more comes
    CHECK(store.append(hello, "hello").has_value());
    store.give_up(hello);
    CHECK(read_all(store, store.round(hello)) == "hello");
    CHECK(store.append(hello, "more").has_error());
}

TEST_CASE("a blob that nobody fetches any more ends for its readers, and can be fetched on") {
    const Folder folder;
    RelayStore store(folder.path, {{hello, 5}});
    CHECK(store.claim(hello));
    CHECK(store.append(hello, "he").has_value());
    store.give_up(hello);
    CHECK(read_all(store) == "he");
    CHECK(store.claim(hello));
    CHECK(store.have(hello) == 2);
}

TEST_CASE("a request's head: method, path, login and where to begin") {
    const auto request = parse_relay_http("GET /v2/dockdist/image/blobs/sha256:00 HTTP/1.1\r\nHost: x\r\n"
                                          "authorization: Basic abc\r\nRANGE: bytes=12-\r\n\r\n");
    REQUIRE(request.has_value());
    CHECK(request->method == "GET");
    CHECK(request->authorization == "Basic abc");
    CHECK(request->offset == 12);
    CHECK(blob_in_path(request->path) == "sha256:00");
    CHECK(blob_in_path("/v1/blobs/x") == "");
    CHECK(is_manifest_path("/v2/dockdist/image/manifests/sha256:00"));
    CHECK_FALSE(is_manifest_path("/v2/"));
}

TEST_CASE("what is no request is refused") {
    for (const char* head :
         {"", "\r\n\r\n", "GET\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1",
          "GET / HTTP/1.1\r\nbad\r\n\r\n", "GET / HTTP/1.1\r\nRange: bytes=-5\r\n\r\n",
          "GET / HTTP/1.1\r\nRange: items=1-\r\n\r\n", "GET / HTTP/1.1\r\nRange: b\r\n\r\n",
          "GET / HTTP/1.1\r\nRange: bytes=1\r\n\r\n",
          "GET / HTTP/1.1\r\nRange: bytes=99999999999999999999-\r\n\r\n",
          "PUT / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"}) {
        CAPTURE(head);
        CHECK_FALSE(parse_relay_http(head).has_value());
    }
}

TEST_CASE("damaged heads end in a request or in none") {
    const std::string digest = "sha256:" + std::string(64, 'a');
    const auto head = "GET /v2/dockdist/image/blobs/" + digest + " HTTP/1.1\r\nHost: 10.0.0.1:4000\r\n" +
                      "Authorization: Basic ZG9ja2Rpc3Q6dG9r\r\nRange: bytes=12-\r\n\r\n";
    Damage damage;
    int taken = 0;
    for (int i = 0; i < 6000; ++i) {
        const auto request = parse_relay_http(damage.apply(head));
        if (request) {
            ++taken;
            CHECK(request->offset >= 0);
            (void)is_manifest_path(request->path);
            (void)blob_in_path(request->path);
        }
    }
    CHECK(taken > 0);
}

TEST_CASE("the login is Basic of the relays' user") {
    CHECK(relay_authorization("t0ken") == "Basic ZG9ja2Rpc3Q6dDBrZW4=");
    CHECK(relay_authorization("to") == "Basic ZG9ja2Rpc3Q6dG8=");
    CHECK(relay_authorization("tok") == "Basic ZG9ja2Rpc3Q6dG9r");
    CHECK(same_secret("abc", "abc"));
    CHECK_FALSE(same_secret("abc", "abd"));
    CHECK_FALSE(same_secret("abc", "abcd"));
    CHECK_FALSE(same_secret("", "a"));
}
