#include "node/relay/relay_store.hpp"
#include "patience.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <unistd.h>

namespace relay_store_test {

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
    ImageFiles files(folder.path);
    RelayStore store(files, 100);
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
    ImageFiles files(folder.path);
    RelayStore store(files, 100);
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

TEST_CASE("the last byte is given only when all of it has proved right") {
    struct Judged : ImageFiles {
        using ImageFiles::ImageFiles;
        Result<bool> finish(const std::string& id, Fd& file, const std::string& digest) override {
            read_meanwhile = store->read(id, 0, 100, store->round(id));
            last_is_there = store->wait(id, 4, store->round(id), std::chrono::milliseconds(0));
            return ImageFiles::finish(id, file, digest);
        }
        RelayStore* store = nullptr;
        std::string read_meanwhile{};
        bool last_is_there = false;
    };
    const Folder folder;
    Judged files(folder.path);
    RelayStore store(files, 100);
    files.store = &store;
    store.set_image({{hello, 5}});
    CHECK(store.claim(hello));
    for (const auto* came : {"hellO", "hello"}) {
        CHECK(store.append(hello, came).has_value() == (std::string(came) == "hello"));
        CHECK(files.read_meanwhile == "hell");
        CHECK_FALSE(files.last_is_there);
    }
    CHECK(read_all(store, store.round(hello)) == "hello");
}

TEST_CASE("a reader that goes on near the end of a blob does not slow down the hashing of what is before") {
    constexpr std::int64_t size = 84 << 20; // at the pace of who reads from the begin: 20 s
    struct There : ImageFiles {
        using ImageFiles::ImageFiles;
        Result<Opened> open(const std::string& id, bool anew) override {
            auto opened = ImageFiles::open(id, anew);
            if (opened && ::ftruncate(opened->file.get(), size) == 0) {
                opened->begun = size;
            }
            return opened;
        }
        Result<bool> finish(const std::string& /*id*/, Fd& /*file*/, const std::string& /*digest*/) override {
            return true;
        }
    };
    const Folder folder;
    There files(folder.path);
    RelayStore store(files, 0);
    store.add("file:0", size, true);
    CHECK_FALSE(store.wait("file:0", size - 1, 0, std::chrono::milliseconds(0)));
    const auto end = patience_ends(std::chrono::seconds(10));
    CHECK(store.begin("file:0").has_value());
    CHECK(store.whole("file:0"));
    CHECK(std::chrono::steady_clock::now() < end);
}

TEST_CASE("a blob that nobody fetches any more ends for its readers, and can be fetched on") {
    const Folder folder;
    ImageFiles files(folder.path);
    RelayStore store(files, 100);
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
    ImageFiles files(folder.path);
    RelayStore store(files, 100);
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

TEST_CASE("no more is taken ahead than there may be") {
    const Folder folder;
    ImageFiles files(folder.path);
    RelayStore store(files, 7);
    CHECK(store.append_ahead(0, "hello"));
    CHECK_FALSE(store.append_ahead(1, "much"));
    CHECK_FALSE(store.append_ahead(1, "m")); // nothing behind a gap
    store.set_image({{hello, 5, 0}});
    CHECK(store.whole(hello));
    ImageFiles others(folder.path);
    RelayStore many(others, 10'000);
    for (int i = 0; i < 2000; ++i) {
        REQUIRE(many.append_ahead(i, ""));
    }
    CHECK_FALSE(many.append_ahead(2000, ""));
}

TEST_CASE("what came ahead and is another thing than it should be is fetched anew") {
    const Folder folder;
    ImageFiles files(folder.path);
    RelayStore store(files, 100);
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
    ImageFiles files(folder.path);
    RelayStore store(files, 100);
    std::string read = "?";
    std::thread reader([&] {
        RelayStore::AheadPlace at;
        read = store.read_ahead(at, 4);
    });
    store.set_image({});
    reader.join();
    CHECK(read.empty());
}

TEST_CASE("a reader that has other things to do meanwhile waits for a while only") {
    const Folder folder;
    ImageFiles files(folder.path);
    RelayStore store(files, 100);
    constexpr std::chrono::milliseconds moment{1};
    RelayStore::AheadPlace at;
    CHECK_FALSE(store.wait_ahead(at, moment));
    CHECK(store.append_ahead(0, "he"));
    CHECK(store.wait_ahead(at, moment));
    store.set_image({{hello, 5, 0}});
    CHECK(store.wait_ahead(at, moment));
    CHECK(store.claim(hello));
    CHECK(store.wait(hello, 0, 0, moment));
    CHECK_FALSE(store.wait(hello, 2, 0, moment));
    CHECK(store.append(hello, "llo").has_value());
    CHECK(store.wait(hello, 2, 0, moment));
    store.give_up(hello);
    CHECK(store.wait(hello, 5, 0, moment));
}

} // namespace relay_store_test
