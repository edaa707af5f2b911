#include "shared/tree/read_tree.hpp"
#include "shared/tree/tree_writer.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sys/stat.h>

namespace tree_test {

using namespace dockdist;
using wire::TreeEntry;
namespace fs = std::filesystem;

namespace {

TreeWriter writer_in(const std::string& path) {
    auto folder = Folder::open(path);
    REQUIRE(folder.has_value());
    return TreeWriter(std::move(*folder));
}

Status put(TreeWriter& writer, const std::string& name, const std::string& content,
           std::uint32_t mode = 0644) {
    if (auto begun = writer.begin_file({.name = name, .mode = mode, .time_ns = 1'500'000'000'123'456'789});
        !begun) {
        return begun;
    }
    if (auto written = writer.write(content); !written) {
        return written;
    }
    return writer.end_file(true);
}

std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t files_in(const std::string& path) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

} // namespace

TEST_CASE("a file is written whole, with its mode and time, in place of the old one") {
    const Scratch scratch;
    auto writer = writer_in(scratch.path);
    REQUIRE(writer.make_folder("a", 0755).has_value());
    REQUIRE(put(writer, "a/f", "old").has_value());
    REQUIRE(put(writer, "a/f", "new", 0751).has_value());
    CHECK(content(scratch / "a/f") == "new");
    struct stat status{};
    REQUIRE(::stat((scratch / "a/f").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777U) == 0751);
    CHECK(status.st_mtim.tv_nsec == 123'456'789);
    CHECK(files_in(scratch / "a") == 1);
}

TEST_CASE("a file that is given up leaves the old one, and nothing beside it") {
    const Scratch scratch;
    {
        auto writer = writer_in(scratch.path);
        REQUIRE(put(writer, "f", "old").has_value());
        REQUIRE(writer.begin_file({.name = "f", .mode = 0644}).has_value());
        REQUIRE(writer.write("half").has_value());
        CHECK(files_in(scratch.path) == 2);
        REQUIRE(writer.end_file(false).has_value());
        CHECK(files_in(scratch.path) == 1);
        REQUIRE(writer.begin_file({.name = "f", .mode = 0644}).has_value());
    } // and the same when the stream ends
    CHECK(content(scratch / "f") == "old");
    CHECK(files_in(scratch.path) == 1);
}

TEST_CASE("a file that is being written is given up when its writer turns to another folder") {
    const Scratch scratch;
    auto writer = writer_in(scratch.path);
    REQUIRE(writer.begin_file({.name = "f"}).has_value());
    REQUIRE(writer.write("half").has_value());
    writer = TreeWriter();
    CHECK(fs::is_empty(scratch.path));
}

TEST_CASE("nothing is written, read, removed or changed through a link") {
    const Scratch outside;
    const Scratch scratch;
    std::ofstream(outside / "f") << "safe";
    fs::create_directory_symlink(outside.path, scratch / "d");
    fs::create_symlink(outside / "f", scratch / "l");
    auto writer = writer_in(scratch.path);
    CHECK(put(writer, "d/f", "bad").has_error());
    CHECK(put(writer, "d/new", "bad").has_error());
    CHECK(writer.make_folder("d/new", 0755).has_error());
    CHECK(writer.make_folder("d", 0755).has_error());
    CHECK(writer.link("d/l", "x").has_error());
    CHECK(writer.remove("d/f").has_error());
    CHECK(writer.set_mode("d/f", 0777).has_error());
    CHECK(writer.set_mode("l", 0777).has_error());
    CHECK(writer.set_time("d/f", 0).has_error());
    auto folder = Folder::open(scratch.path);
    CHECK(!open_file(*folder, "l").open());
    CHECK(!open_file(*folder, "d/f").open());
    CHECK(list_folder(*folder, "d")->empty());
    CHECK(digest_file(*folder, "d/f").has_error());
    REQUIRE(put(writer, "l", "own").has_value()); // takes the link's place
    CHECK(content(outside / "f") == "safe");
    CHECK(content(scratch / "l") == "own");
    CHECK(files_in(outside.path) == 1);
}

TEST_CASE("a folder that becomes a link while it is written into is not followed") {
    const Scratch outside;
    const Scratch scratch;
    auto writer = writer_in(scratch.path);
    REQUIRE(writer.make_folder("d", 0755).has_value());
    REQUIRE(put(writer, "d/f", "one").has_value()); // its descriptor is kept
    fs::rename(scratch / "d", scratch / "moved");
    fs::create_directory_symlink(outside.path, scratch / "d");
    (void)put(writer, "d/f", "two");
    writer.tree().forget();
    CHECK(put(writer, "d/f", "three").has_error());
    CHECK(files_in(outside.path) == 0);
}

TEST_CASE("links that lead out are refused") {
    const Scratch scratch;
    auto writer = writer_in(scratch.path);
    CHECK(writer.link("l", "/etc/passwd").has_error());
    CHECK(writer.link("l", "../x").has_error());
    REQUIRE(writer.link("l", "a/b").has_value());
    CHECK(fs::read_symlink(scratch / "l") == "a/b");
}

TEST_CASE("folders are removed when they are empty, and files never leave a folder's place") {
    const Scratch scratch;
    auto writer = writer_in(scratch.path);
    REQUIRE(writer.make_folder("d", 0755).has_value());
    REQUIRE(put(writer, "d/f", "x").has_value());
    CHECK(writer.remove("d").has_error());
    CHECK(put(writer, "d", "x").has_error());
    CHECK(files_in(scratch.path) == 1);
    REQUIRE(writer.remove("d/f").has_value());
    REQUIRE(writer.remove("d").has_value());
    REQUIRE(writer.remove("d").has_value()); // gone already
    REQUIRE(put(writer, "d", "x").has_value());
}

TEST_CASE("a listing tells what stands there, and nothing of files that are being written") {
    const Scratch scratch;
    auto writer = writer_in(scratch.path);
    REQUIRE(writer.make_folder("d", 0700).has_value());
    REQUIRE(put(writer, "d/f", "abc", 0640).has_value());
    REQUIRE(writer.link("d/l", "f").has_value());
    REQUIRE(::mkfifo((scratch / "d/p").c_str(), 0600) == 0);
    REQUIRE(writer.begin_file({.name = "d/g", .mode = 0644}).has_value());
    auto folder = Folder::open(scratch.path);
    const auto entries = list_folder(*folder, "d");
    REQUIRE(entries.has_value());
    REQUIRE(entries->size() == 3);
    CHECK(entries->at(0) == TreeEntry{.name = "d/f",
                                      .type = TreeEntry::Type::file,
                                      .mode = 0640,
                                      .size = 3,
                                      .time_ns = 1'500'000'000'123'456'789});
    CHECK(entries->at(1).target == "f");
    CHECK(entries->at(2).type == TreeEntry::Type::other);
    CHECK(!open_file(*folder, "d/p").open()); // and does not wait for its other end
    CHECK(list_folder(*folder, "none")->empty());
}

TEST_CASE("digests tell contents apart") {
    const Scratch scratch;
    auto writer = writer_in(scratch.path);
    REQUIRE(put(writer, "a", "same").has_value());
    REQUIRE(put(writer, "b", "same").has_value());
    REQUIRE(put(writer, "c", "Same").has_value());
    auto folder = Folder::open(scratch.path);
    CHECK(*digest_file(*folder, "a") == *digest_file(*folder, "b"));
    CHECK(*digest_file(*folder, "a") != *digest_file(*folder, "c"));
    CHECK(digest_file(*folder, "a")->size() == 16);
}

} // namespace tree_test
