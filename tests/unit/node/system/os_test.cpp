#include "node/system/os.hpp"
#include "unit/node/scratch.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace os_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

const Owner own{::geteuid(), ::getegid()};

mode_t mode_of(const std::string& path) {
    struct stat status{};
    REQUIRE(::lstat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

} // namespace

TEST_CASE("a file's mode does not depend on the umask") {
    const Scratch scratch;
    const auto mask = ::umask(0);
    CHECK(replace_file(scratch / "key", "secret", 0600, own).has_value());
    ::umask(0777);
    CHECK(replace_file(scratch / "open", "text", 0644, own).has_value());
    ::umask(mask);
    CHECK(mode_of(scratch / "key") == 0600);
    CHECK(mode_of(scratch / "open") == 0644);
}

TEST_CASE("a planted link is replaced, not followed") {
    const Scratch scratch;
    REQUIRE(replace_file(scratch / "target", "untouched", 0600, own).has_value());
    REQUIRE(::symlink((scratch / "target").c_str(), (scratch / "state").c_str()) == 0);
    CHECK(replace_file(scratch / "state", "new", 0600, own).has_value());
    CHECK(*read_file(scratch / "target") == "untouched");
    CHECK(*read_file(scratch / "state") == "new");
}

TEST_CASE("who reads a file waits for no pipe that stands in its place") {
    const Scratch scratch;
    REQUIRE(::mkfifo((scratch / "state").c_str(), 0600) == 0);
    CHECK(read_file(scratch / "state").has_error());
    CHECK(read_file(scratch.path).has_error());
    CHECK(read_file_or_empty("/proc/self/stat") != "");
}

TEST_CASE("a link where a folder should be is refused") {
    const Scratch scratch;
    REQUIRE(::symlink("/etc", (scratch / "run").c_str()) == 0);
    const auto made = make_folder(scratch / "run", 0700, own);
    REQUIRE(made.has_error());
    CHECK(made.error().message.find("is not a folder") != std::string::npos);
}

TEST_CASE("a folder that is there gets its mode") {
    const Scratch scratch;
    REQUIRE(::mkdir((scratch / "run").c_str(), 0777) == 0);
    CHECK(make_folder(scratch / "run", 0700, own).has_value());
    CHECK(mode_of(scratch / "run") == 0700);
}

TEST_CASE("writing in place keeps the file and shortens it") {
    const Scratch scratch;
    REQUIRE(replace_file(scratch / "hosts", "a long old content", 0644, own).has_value());
    struct stat before{};
    REQUIRE(::stat((scratch / "hosts").c_str(), &before) == 0);
    CHECK(write_in_place(scratch / "hosts", "new").has_value());
    struct stat after{};
    REQUIRE(::stat((scratch / "hosts").c_str(), &after) == 0);
    CHECK(after.st_ino == before.st_ino);
    CHECK(*read_file(scratch / "hosts") == "new");
}

TEST_CASE("a mount point is known from its table, other paths are none") {
    CHECK(mounted_at("/proc").root == "/");
    CHECK(mounted_at("/no/such/mount").root.empty());
    constexpr auto table = "36 35 8:1 /srv /data rw - ext4 /dev/sda1 rw\n"
                           "37 36 0:50 /sets /data rw,relatime shared:2 master:1 - nfs4 server:/export rw\n"
                           "38 36 0:51 /\n";
    CHECK(mounted_part(table, "/data").source == "server:/export"); // which is over the other
    CHECK(mounted_part(table, "/data").root == "/sets");
    CHECK(mounted_part(table, "/").source.empty());
}

TEST_CASE("removing a tree leaves what a link in it points to") {
    const Scratch scratch;
    REQUIRE(::mkdir((scratch / "kept").c_str(), 0700) == 0);
    REQUIRE(replace_file(scratch / "kept/file", "x", 0600, own).has_value());
    REQUIRE(::mkdir((scratch / "gone").c_str(), 0700) == 0);
    REQUIRE(::symlink((scratch / "kept").c_str(), (scratch / "gone/link").c_str()) == 0);
    remove_tree(scratch / "gone");
    CHECK_FALSE(is_folder(scratch / "gone"));
    CHECK(*read_file(scratch / "kept/file") == "x");
}

TEST_CASE("a tree deeper than there are descriptors is removed, and a large one as far as was asked") {
    const Scratch scratch;
    const Fd top(::open(scratch.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    Fd folder(::openat(top.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < 3000; ++i) {
        REQUIRE(::mkdirat(folder.get(), "d", 0700) == 0);
        folder = Fd(::openat(folder.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    }
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const rlimit few{.rlim_cur = 256, .rlim_max = before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    CHECK_FALSE(remove_tree(scratch / "d", 10));
    CHECK(remove_tree(scratch / "d"));
    ::setrlimit(RLIMIT_NOFILE, &before);
    CHECK(list_folder(scratch.path).empty());
    CHECK(remove_tree(scratch / "d")); // nothing is there
}

TEST_CASE("what is no file is not read, and not waited for") {
    const Scratch scratch;
    REQUIRE(::mkfifo((scratch / "fifo").c_str(), 0600) == 0);
    for (const auto& path : {scratch / "fifo", std::string("/dev/zero")}) {
        CHECK(read_file(path).error().message == "cannot read " + path + ": it is not a regular file");
    }
    CHECK(read_file(scratch.path).error().message == "cannot read " + scratch.path + ": Is a directory");
    CHECK(open_regular(scratch / "none").error().kind == ErrorKind::not_found);
    CHECK_FALSE(read_file_or_empty("/proc/self/stat").empty());
}

} // namespace os_test
