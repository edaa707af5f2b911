#include "shared/core/new_file.hpp"
#include "unit/node/scratch.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace new_file_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

struct Place {
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
    }

    Scratch scratch{};
    fs::path folder = scratch.path;
};

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

mode_t mode_of(const fs::path& path) {
    struct stat status{};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

} // namespace

TEST_CASE("a file takes its name whole, with its mode whatever the umask says") {
    const Place place;
    const auto path = place.folder / "file";
    const auto mask = ::umask(0777);
    CHECK(replace_whole_file(path.string(), "one", {.mode = 0640}));
    CHECK(replace_whole_file(path.string(), "two", {.mode = 0644, .on_disk = true}));
    ::umask(mask);
    CHECK(text_of(path) == "two");
    CHECK(mode_of(path) == 0644);
    CHECK(place.entries() == 1);
}

namespace {

// What is brought to the disk, in order: "file" under its first name, "file" under its own, or "folder".
struct Synced {
    explicit Synced(const fs::path& path, int fails_at = -1) {
        syncing() = [this, path, fails_at](int descriptor) {
            struct stat status{};
            REQUIRE(::fstat(descriptor, &status) == 0);
            calls.push_back(S_ISDIR(status.st_mode) ? "folder" : "file");
            named.push_back(text_of(path) == "new");
            errno = EIO;
            return static_cast<int>(calls.size()) == fails_at ? -1 : 0;
        };
    }
    ~Synced() { syncing() = ::fsync; }
    Synced(const Synced&) = delete;
    Synced& operator=(const Synced&) = delete;
    std::vector<std::string> calls{};
    std::vector<bool> named{};
};

} // namespace

TEST_CASE(
    "what is to be on the disk is synced before it takes its name, and then the folder; nothing else is") {
    const Place place;
    const auto path = place.folder / "file";
    REQUIRE(replace_whole_file(path.string(), "old", {}));
    {
        const Synced synced(path);
        CHECK(replace_whole_file(path.string(), "new", {.on_disk = true}));
        CHECK(synced.calls == std::vector<std::string>{"file", "folder"});
        CHECK(synced.named == std::vector<bool>{false, true});
        CHECK(replace_whole_file(path.string(), "new", {}));
        CHECK(synced.calls.size() == 2);
    }
    for (const int fails_at : {1, 2}) {
        REQUIRE(replace_whole_file(path.string(), "old", {}));
        const Synced synced(path, fails_at);
        CHECK_FALSE(replace_whole_file(path.string(), "new", {.on_disk = true}));
        CHECK(errno == EIO);
        CHECK(text_of(path) == (fails_at == 1 ? "old" : "new"));
        CHECK(place.entries() == 1);
    }
}

TEST_CASE("until it has its name what was there is there, and nobody else reads what comes") {
    const Place place;
    const auto path = place.folder / "file";
    REQUIRE(replace_whole_file(path.string(), "old", {.mode = 0644}));
    {
        NewFile file(path.string());
        REQUIRE(file.open());
        CHECK(write_whole(file.get(), "new"));
        CHECK(text_of(path) == "old");
        struct stat status{};
        REQUIRE(::fstat(file.get(), &status) == 0);
        CHECK((status.st_mode & 07777U) == 0600);
    }
    CHECK(text_of(path) == "old");
    CHECK(place.entries() == 1); // what was given up has left nothing
}

TEST_CASE("links and other files in its place are replaced, and what a link leads to is not touched") {
    const Place place;
    const auto path = place.folder / "state";
    REQUIRE(replace_whole_file((place.folder / "victim").string(), "untouched", {}));
    fs::create_symlink("victim", path);
    CHECK(replace_whole_file(path.string(), "new", {}));
    CHECK(fs::is_regular_file(fs::symlink_status(path)));
    CHECK(text_of(place.folder / "victim") == "untouched");
    fs::remove(path);
    REQUIRE(::mkfifo(path.c_str(), 0666) == 0);
    CHECK(replace_whole_file(path.string(), "new", {})); // and does not wait for a reader
    CHECK(text_of(path) == "new");
    fs::remove(path);
    fs::create_hard_link(place.folder / "victim", path);
    CHECK(replace_whole_file(path.string(), "new", {}));
    CHECK(text_of(place.folder / "victim") == "untouched");
}

TEST_CASE("nothing that could be planted beside it is opened") {
    const Place place;
    const auto path = place.folder / "node.prom";
    const NewFile first(path.string());
    std::string beside;
    for (const auto& entry : fs::directory_iterator(place.folder)) {
        beside = entry.path().filename().string();
    }
    CHECK(beside.starts_with(new_file_prefix));
    CHECK(beside.size() == new_file_prefix.size() + 16);
    CHECK_FALSE(beside.ends_with(".prom")); // node_exporter would read it
    const NewFile second(path.string());
    CHECK(place.entries() == 2); // each has a name of its own
}

TEST_CASE("it stays in the folder where it began") {
    const Place place;
    const auto folder = place.folder / "folder";
    fs::create_directory(folder);
    NewFile file((folder / "file").string());
    REQUIRE(write_whole(file.get(), "mine"));
    fs::rename(folder, place.folder / "moved");
    fs::create_directory(place.folder / "trap");
    fs::create_symlink("trap", folder);
    CHECK(file.take_name());
    CHECK(text_of(place.folder / "moved/file") == "mine");
    CHECK(fs::is_empty(place.folder / "trap"));
}

TEST_CASE("why not is errno's, and nothing stays") {
    const Place place;
    errno = 0;
    CHECK_FALSE(replace_whole_file((place.folder / "none/file").string(), "x", {}));
    CHECK(errno == ENOENT);
    fs::create_directory(place.folder / "folder");
    CHECK_FALSE(replace_whole_file((place.folder / "folder").string(), "x", {}));
    CHECK((errno == EISDIR || errno == EEXIST || errno == ENOTEMPTY));
    CHECK(place.entries() == 1);
}

TEST_CASE("a link takes its name as a file does") {
    const Place place;
    const Fd folder(::open(place.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    CHECK(replace_link(folder.get(), "link", "one"));
    CHECK(replace_link(folder.get(), "link", "two"));
    CHECK(fs::read_symlink(place.folder / "link") == "two");
    fs::create_directory(place.folder / "folder");
    CHECK_FALSE(replace_link(folder.get(), "folder", "x"));
    CHECK(place.entries() == 2);
}

} // namespace new_file_test
