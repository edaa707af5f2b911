#include "node/relay/relay_store.hpp"
#include "node/relay/tree_fetcher.hpp"
#include "node/relay/tree_files.hpp"
#include "shared/tree/read_tree.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

namespace tree_files_test {

using namespace dockdist;
using namespace dockdist::node;
namespace fs = std::filesystem;

namespace {

// printf hello | sha256sum
const std::string hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const wire::RelayFile one{.number = 7, .name = "sub/one", .size = 5, .mode = 0640, .time_ns = 1'500'000'000};
const std::string id = wire::relay_blob_id(7);

struct Target {
    Target() {
        std::string name = fs::temp_directory_path() / "dockdist-tree-XXXXXX";
        path = ::mkdtemp(name.data());
        fs::create_directory(path / "sub");
    }
    ~Target() { fs::remove_all(path); }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    // A relay of its own, as each transfer has one.
    std::unique_ptr<TargetFiles> files(const wire::RelayFile& file = one) {
        auto made = std::make_unique<TargetFiles>(*Folder::open(path), [this](int number) {
            asked.push_back(number);
            return expected;
        });
        made->add(file);
        return made;
    }
    std::string content(const std::string& name) const {
        std::ifstream file(path / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    void put(const std::string& name, const std::string& text) const { std::ofstream(path / name) << text; }
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const auto& entry : fs::directory_iterator(path / "sub")) {
            found.push_back(entry.path().filename());
        }
        return found;
    }

    fs::path path{};
    std::string expected = hello;
    std::vector<int> asked{};
};

} // namespace

TEST_CASE("a file lies beside its place until the client has said that it is right") {
    Target target;
    const auto files = target.files();
    RelayStore store(*files, 0);
    store.add(id, 5, true);
    REQUIRE(store.begin(id).has_value());
    CHECK(store.append(id, "hel").has_value());
    CHECK(target.names() == std::vector<std::string>{begun_name(one)});
    CHECK(target.asked.empty());
    CHECK(store.append(id, "lo").has_value());
    CHECK(store.whole(id));
    CHECK(target.asked == std::vector<int>{7});
    CHECK(target.names() == std::vector<std::string>{"one"});
    CHECK(target.content("sub/one") == "hello");
    struct stat status{};
    REQUIRE(::stat((target.path / "sub/one").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0640);
    CHECK(status.st_mtim.tv_sec == 1);
    CHECK(status.st_mtim.tv_nsec == 500'000'000);
    CHECK(store.read(id, 1, 3, 0) == "ell"); // for the next relay, once it has its name
}

TEST_CASE("what is begun is gone on with, and of another version nothing is taken") {
    Target target;
    target.put("sub/" + begun_name(one), "hel");
    auto other = one;
    other.time_ns = 1;
    CHECK(begun_name(other) != begun_name(one));
    other.time_ns = one.time_ns;
    other.size = 6;
    CHECK(begun_name(other) != begun_name(one));
    const auto files = target.files();
    RelayStore store(*files, 0);
    store.add(id, 5, true);
    REQUIRE(store.begin(id).has_value());
    CHECK(store.have(id) == 3);
    CHECK(store.bytes() == 3);
    CHECK(store.append(id, "lo").has_value());
    CHECK(target.content("sub/one") == "hello");
}

TEST_CASE("the last byte comes anew, for somebody has to tell the digest") {
    Target target;
    target.put("sub/" + begun_name(one), "hello and more");
    const auto files = target.files();
    RelayStore store(*files, 0);
    store.add(id, 5, true);
    REQUIRE(store.begin(id).has_value());
    CHECK(store.have(id) == 4);
    CHECK(store.append(id, "o").has_value());
    CHECK(target.content("sub/one") == "hello");
}

TEST_CASE("what is begun and damaged is found out at the end, and comes anew") {
    Target target;
    target.put("sub/" + begun_name(one), "HEL");
    target.put("sub/one", "old");
    const auto files = target.files();
    RelayStore store(*files, 0);
    store.add(id, 5, true);
    REQUIRE(store.begin(id).has_value());
    const auto damaged = store.append(id, "lo");
    REQUIRE(damaged.has_error());
    CHECK(damaged.error().kind == ErrorKind::protocol);
    CHECK(target.content("sub/one") == "old");
    CHECK(store.have(id) == 0);
    CHECK(store.bytes() == 0);
    CHECK(store.append(id, "hello").has_value());
    CHECK(target.content("sub/one") == "hello");
}

TEST_CASE("a file that is given up where it comes from leaves what was there") {
    Target target;
    target.put("sub/one", "old");
    target.expected = "";
    const auto files = target.files();
    RelayStore store(*files, 0);
    store.add(id, 5, true);
    const auto given_up = store.append(id, "hello");
    REQUIRE(given_up.has_error());
    CHECK(given_up.error().kind == ErrorKind::node); // no other relay is asked
    CHECK(target.names() == std::vector<std::string>{"one"});
    CHECK(target.content("sub/one") == "old");
}

TEST_CASE("nothing is written through a link, nor out of the folder") {
    Target target;
    const Target elsewhere;
    elsewhere.put("kept", "kept");
    SUBCASE("in the place of what is begun") {
        fs::create_symlink(elsewhere.path / "kept", target.path / "sub" / begun_name(one));
    }
    SUBCASE("one with another name as well") {
        fs::create_hard_link(elsewhere.path / "kept", target.path / "sub" / begun_name(one));
    }
    SUBCASE("in the place of the file") {
        fs::create_symlink(elsewhere.path / "kept", target.path / "sub/one");
    }
    const auto files = target.files();
    RelayStore store(*files, 0);
    store.add(id, 5, true);
    CHECK(store.append(id, "hello").has_value());
    CHECK(fs::is_regular_file(fs::symlink_status(target.path / "sub/one")));
    CHECK(target.content("sub/one") == "hello");
    CHECK(elsewhere.content("kept") == "kept");
}

TEST_CASE("a folder on the way that is a link is an error") {
    Target target;
    const Target elsewhere;
    fs::remove(target.path / "sub");
    fs::create_symlink(elsewhere.path, target.path / "sub");
    const auto files = target.files();
    RelayStore store(*files, 0);
    store.add(id, 5, true);
    CHECK(store.append(id, "hello").has_error());
    CHECK(fs::exists(elsewhere.path / "sub"));
    CHECK(elsewhere.names().empty());
    CHECK_FALSE(fs::exists(elsewhere.path / "one"));
}

TEST_CASE("a file that another transfer brings at the moment is left to it") {
    Target target;
    const auto first = target.files();
    const auto second = target.files();
    RelayStore at_work(*first, 0);
    RelayStore late(*second, 0);
    at_work.add(id, 5, true);
    late.add(id, 5, true);
    CHECK(at_work.append(id, "hel").has_value());
    const auto refused = late.begin(id);
    REQUIRE(refused.has_error());
    CHECK(refused.error().kind == ErrorKind::node); // no other relay is asked
    CHECK(refused.error().message.starts_with("another `data push`"));
    CHECK(at_work.append(id, "lo").has_value());
    CHECK(target.content("sub/one") == "hello");
}

TEST_CASE("a file that does not fit is told before it comes") {
    Target target;
    auto large = one;
    large.size = std::int64_t{1} << 50U;
    const auto files = target.files(large);
    RelayStore store(*files, 0);
    store.add(id, large.size, true);
    const auto begun = store.begin(id);
    REQUIRE(begun.has_error());
    CHECK(begun.error().message.starts_with("still needs 1073741824 MiB, and "));
    CHECK(begun.error().hint == "free space on that host, or choose another `to`");
    CHECK(target.names().empty());
}

TEST_CASE("an empty file needs nobody") {
    Target target;
    auto empty = one;
    empty.size = 0;
    const auto files = target.files(empty);
    RelayStore store(*files, 0);
    store.add(id, 0, true);
    REQUIRE(store.begin(id).has_value());
    CHECK(store.whole(id));
    CHECK(target.asked.empty());
    CHECK(target.names() == std::vector<std::string>{"one"});
}

TEST_CASE("where it comes from a file is read once, and told with its digest or as given up") {
    Target target;
    target.put("sub/one", "hello");
    auto folder = Folder::open(target.path);
    const auto entry = entry_of(open_file(*folder, "sub/one").get(), "sub/one");
    REQUIRE(entry.has_value());
    auto file = one;
    file.time_ns = entry->time_ns;
    std::vector<wire::RelayDigest> told;
    const auto tell = [&](const wire::RelayDigest& digest) { told.push_back(digest); };
    SUBCASE("as it was listed") {
        OriginFiles files(*Folder::open(target.path), tell);
        files.add(file);
        RelayStore store(files, 0);
        store.add(id, 5, false);
        CHECK(store.claim(id));
        CHECK(store.begin(id).has_value());
        CHECK(told == std::vector<wire::RelayDigest>{{7, hello}});
        CHECK(store.read(id, 0, 100, 0) == "hello");
    }
    SUBCASE("another one by now") {
        file.time_ns = 1;
        OriginFiles files(*Folder::open(target.path), tell);
        files.add(file);
        RelayStore store(files, 0);
        store.add(id, 5, false);
        CHECK(store.begin(id).has_error());
        CHECK(told == std::vector<wire::RelayDigest>{{7, ""}});
    }
    SUBCASE("gone, with a link in its place") {
        fs::remove(target.path / "sub/one");
        fs::create_symlink("/etc/passwd", target.path / "sub/one");
        OriginFiles files(*Folder::open(target.path), tell);
        files.add(file);
        RelayStore store(files, 0);
        store.add(id, 5, false);
        CHECK(store.begin(id).has_error());
        CHECK(told == std::vector<wire::RelayDigest>{{7, ""}});
    }
}

TEST_CASE("small files that follow each other are asked for at once, a large one alone") {
    const auto file = [](int number, std::int64_t size) {
        return wire::RelayFile{.number = number, .name = "f", .size = size};
    };
    CHECK(make_runs({}).empty());
    CHECK(make_runs({file(0, 1), file(1, 1), file(3, 1), file(4, 100 << 20), file(5, 1)}) ==
          std::vector<FileRun>{{0, 2}, {3, 1}, {4, 1}, {5, 1}});
    std::vector<wire::RelayFile> many;
    for (int i = 0; i < 130; ++i) {
        many.push_back(file(i, 0));
    }
    CHECK(make_runs(many) == std::vector<FileRun>{{0, 64}, {64, 64}, {128, 2}});
}

} // namespace tree_files_test
