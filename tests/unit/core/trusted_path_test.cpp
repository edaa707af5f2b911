#include "shared/core/trusted_path.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sys/xattr.h>
#include <unistd.h>

namespace trusted_path_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

constexpr uid_t stranger = 12345;
constexpr gid_t users = 100;   // Debian's, of nobody in particular
constexpr uid_t www_data = 33; // and its own group

// …/way/to/cluster.yaml, of this user alone.
struct Scene {
    Scratch scratch{};
    fs::path root = scratch.path;
    fs::path way = root / "way";
    fs::path folder = way / "to";
    fs::path file = folder / "cluster.yaml";
    Scene() {
        fs::create_directories(folder);
        std::ofstream(file) << "image: a\n";
        for (const auto& path : {root, way, folder}) {
            mode(path, 0755);
        }
        mode(file, 0644);
    }
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;
    ~Scene() { ::unsetenv("SUDO_UID"); }

    static void mode(const fs::path& path, mode_t bits) { REQUIRE(::chmod(path.c_str(), bits) == 0); }
    static void give(const fs::path& path, uid_t user, gid_t group) {
        REQUIRE(::lchown(path.c_str(), user, group) == 0);
    }

    std::string other() const { return text(other_writer(file)); }
    std::string other_of_found() const {
        struct stat opened{};
        REQUIRE(::stat(file.c_str(), &opened) == 0);
        return text(other_writer_of_found(file, opened));
    }
    // Without the folder of the test, and with an exclamation mark where it is everybody.
    std::string text(const std::optional<OtherWriter>& found) const {
        if (!found) {
            return "";
        }
        auto said = found->text;
        for (auto at = said.find(root.string()); at != std::string::npos; at = said.find(root.string())) {
            said.replace(at, root.string().size(), "R");
        }
        return said + (found->everybody ? "!" : "");
    }
};

} // namespace

TEST_CASE_FIXTURE(Scene, "what is the user's own, below folders of the user's and root's, is nobody else's") {
    CHECK(other() == "");
    CHECK(other_of_found() == "");
    CHECK_FALSE(other_writer("/bin/sh"));
    CHECK_FALSE(other_writer("/etc/passwd"));
}

TEST_CASE_FIXTURE(Scene, "the file, its folder and each folder on the way are looked at") {
    for (const auto& [path, name] :
         {std::pair{file, "R/way/to/cluster.yaml"}, std::pair{folder, "R/way/to"}, std::pair{way, "R/way"}}) {
        struct stat before{};
        REQUIRE(::stat(path.c_str(), &before) == 0);
        mode(path, (before.st_mode & 0777U) | S_IWOTH);
        CHECK(other() == "everybody may write to " + std::string(name) + "!");
        CHECK(other_of_found() == other());
        mode(path, before.st_mode & 0777U);
        CHECK(other() == "");
    }
    CHECK(text(other_writer(folder / "no")) == "R/way/to/no cannot be looked at: No such file or directory");
}

TEST_CASE_FIXTURE(Scene,
                  "a sticky folder of everybody's is one on the way, but none to come upon a file in") {
    mode(way, 01777);
    CHECK(other() == "");
    CHECK(other_of_found() == "");
    mode(way, 0755);
    mode(folder, 01777);
    CHECK(other() == "");
    CHECK(other_of_found() == "everybody may write to R/way/to!");
}

TEST_CASE_FIXTURE(Scene, "links are followed one by one, and what they lead through is looked at") {
    fs::create_directories(root / "far");
    std::ofstream(root / "far/real.yaml") << "image: a\n";
    mode(root / "far", 0755);
    mode(root / "far/real.yaml", 0644);
    fs::remove(file);
    fs::create_symlink("../../door/real.yaml", file);
    fs::create_symlink(root / "far", root / "door");
    CHECK(other() == "");
    CHECK(other_of_found() == "");
    mode(root / "far", 0777);
    CHECK(other() == "everybody may write to R/far!");
    CHECK(other_of_found() == "everybody may write to R/far!");
    mode(root / "far", 0755);
    mode(root / "far/real.yaml", 0666);
    CHECK(other_of_found() == "everybody may write to R/far/real.yaml!");
    fs::create_symlink("loop", root / "loop");
    CHECK(text(other_writer(root / "loop")).ends_with("Too many levels of symbolic links"));
}

TEST_CASE_FIXTURE(Scene, "a path that leads elsewhere than to what was read is told") {
    struct stat opened{};
    REQUIRE(::stat(file.c_str(), &opened) == 0);
    fs::rename(file, folder / "before");
    std::ofstream(file) << "image: b\n";
    CHECK(text(other_writer(file, &opened)) == "R/way/to/cluster.yaml has changed since it was read");
    CHECK(text(other_writer_of_found(file, opened)) == text(other_writer(file, &opened)));
}

// Else a file cannot be another one's.
TEST_CASE_FIXTURE(Scene, "owners and groups" * doctest::skip(::geteuid() != 0)) {
    SUBCASE("of a file, its folder, and the folders on the way") {
        for (const auto& path : {file, folder, way}) {
            give(path, stranger, stranger);
            CHECK(other() == "R" + path.string().substr(root.string().size()) + " is user 12345's");
            CHECK(other_of_found() == other());
            ::setenv("SUDO_UID", "12345", 1);
            CHECK(other() == "");
            CHECK(other_of_found() == "");
            ::setenv("SUDO_UID", "-1", 1);
            CHECK(other() != "");
            ::unsetenv("SUDO_UID");
            give(path, 0, 0);
        }
    }
    SUBCASE("of a link, and of whoever was the first to take a name in /tmp") {
        mode(way, 01777);
        fs::create_symlink(folder, way / "link");
        give(way / "link", stranger, stranger);
        CHECK(text(other_writer(way / "link/cluster.yaml")) == "R/way/link is user 12345's!");
        give(folder, stranger, stranger);
        CHECK(other() == "R/way/to is user 12345's!");
    }
    SUBCASE("a group may write that is more than one user") {
        for (const auto& path : {file, folder, way}) {
            give(path, 0, users);
            mode(path, path == file ? 0664 : 02775);
            CHECK(other() == "the group users may write to R" + path.string().substr(root.string().size()));
            CHECK(other_of_found() == other());
            give(path, 0, 0); // root's own, with nobody else in it
            CHECK(other() == "");
            CHECK(other_of_found() == "");
        }
        give(file, 0, 54321);
        CHECK(other() == "the group 54321 may write to R/way/to/cluster.yaml");
    }
    SUBCASE("a user's own group is that user, where the user is trusted") {
        give(file, 0, www_data);
        mode(file, 0664);
        CHECK(other() == "the group www-data may write to R/way/to/cluster.yaml");
        ::setenv("SUDO_UID", "33", 1);
        CHECK(other() == "");
    }
    SUBCASE("an access control list gives the bits of the group another meaning") {
        mode(file, 0664);
        CHECK(other() == "");
        // acl(5) as the kernel has it: a version; then tag, rights and number of owner, stranger, group, mask
        // and others.
        struct Entry {
            std::uint16_t tag, rights;
            std::uint32_t number;
        };
        struct {
            std::uint32_t version = 2;
            std::array<Entry, 5> entries{
                {{1, 6, 0}, {2, 6, stranger}, {4, 4, 0}, {0x10, 6, 0}, {0x20, 4, 0}}};
        } const list;
        if (::setxattr(file.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0) {
            CHECK(other() == "an access control list lets others write to R/way/to/cluster.yaml");
        }
    }
}

} // namespace trusted_path_test
