#include "fakes/damage.hpp"
#include "node/relay/relay_http.hpp"
#include "node/relay/relay_store.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

namespace relay_test {

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
    RelayStore store(folder.path);
    store.set_image({{hello, 5}});
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
    RelayStore store(folder.path);
    store.set_image({{hello, 5}});
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
    RelayStore store(folder.path);
    store.set_image({{hello, 5}});
    CHECK(store.claim(hello));
    CHECK(store.append(hello, "he").has_value());
    store.give_up(hello);
    CHECK(read_all(store) == "he");
    CHECK(store.claim(hello));
    CHECK(store.have(hello) == 2);
}

TEST_CASE("what came ahead is kept when it proves to be a blob, whole or begun") {
    const Folder folder;
    // printf world | sha256sum
    const std::string world = "sha256:486ea46224d1bb4fb680f34f7c9ad96a8f24ec88be73ea8e5a6c65260e9cb8a7";
    const std::string other = "sha256:" + std::string(64, 'a');
    RelayStore store(folder.path);
    CHECK_FALSE(store.knows(hello));
    CHECK(store.append_ahead(1, "hel"));
    CHECK(store.append_ahead(1, "lo"));
    CHECK(store.append_ahead(3, "wo"));
    CHECK_FALSE(store.append_ahead(1, "x")); // another order
    RelayStore::AheadPlace at;
    CHECK(store.read_ahead(at, 4) == "hell");
    CHECK(at.file == 1);
    CHECK(store.read_ahead(at, 4) == "o");
    CHECK(store.read_ahead(at, 4) == "wo");
    CHECK(at.file == 3);
    store.set_image({{hello, 5, 1}, {world, 5, 3}, {other, 7, 2}});
    CHECK(store.read_ahead(at, 4).empty());
    CHECK_FALSE(store.append_ahead(4, "late"));
    CHECK(store.whole(hello));
    CHECK(store.read(hello, 1, 10, store.round(hello)) == "ello");
    CHECK(store.have(world) == 2);
    CHECK(store.claim(world));
    CHECK(store.append(world, "rld").has_value());
    CHECK(store.whole(world));
    CHECK(store.have(other) == 0);
}

TEST_CASE("what came ahead and is another thing than it should be is fetched anew") {
    const Folder folder;
    RelayStore store(folder.path);
    CHECK(store.append_ahead(0, "jello"));
    CHECK(store.append_ahead(1, "longer than it should be"));
    const std::string other = "sha256:" + std::string(64, 'a');
    store.set_image({{hello, 5, 0}, {other, 7, 1}});
    CHECK_FALSE(store.whole(hello));
    CHECK(store.have(hello) == 0);
    CHECK(store.have(other) == 0);
    CHECK(store.append(hello, "hello").has_value());
    CHECK(store.read(hello, 0, 10, store.round(hello)) == "hello");
}

TEST_CASE("who waits for what comes ahead is told when the image is known") {
    const Folder folder;
    RelayStore store(folder.path);
    std::string read = "?";
    std::thread reader([&] {
        RelayStore::AheadPlace at;
        read = store.read_ahead(at, 4);
    });
    store.set_image({});
    reader.join();
    CHECK(read.empty());
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

} // namespace relay_test
