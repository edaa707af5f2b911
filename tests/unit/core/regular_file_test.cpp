#include "shared/core/regular_file.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sys/stat.h>

namespace regular_file_test {

using namespace dockdist;

namespace {

std::string why(const std::filesystem::path& path) {
    const auto file = read_file(path, 10);
    return file ? "" : file.error().message;
}

} // namespace

TEST_CASE("a file is read as far as is wanted, and told as it was when it was open") {
    const Scratch folder;
    std::ofstream(folder / "file") << "0123456789";
    ::chmod((folder / "file").c_str(), 0640);
    std::filesystem::create_symlink("file", folder / "link");
    CHECK(read_file(folder / "link", 100)->text == "0123456789");
    CHECK(read_file(folder / "file", 4)->text == "0123");
    CHECK((read_file(folder / "file", 0)->status.st_mode & 07777U) == 0640);
    CHECK(read_regular_file(folder / "file") == "0123456789");
    CHECK(read_regular_file("/proc/self/stat")); // which says that it has 0 bytes
}

TEST_CASE("nothing is waited for, and what has no end is not begun") {
    const Scratch folder;
    REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
    std::filesystem::create_symlink("fifo", folder / "link");
    CHECK(why(folder / "fifo") == "it is a pipe, not a file");
    CHECK(why(folder / "link") == "it is a pipe, not a file");
    CHECK(why("/dev/zero") == "it is not a regular file");
    CHECK(why(folder.path) == "it is a folder");
    CHECK(why(folder / "no") == "No such file or directory");
    CHECK(read_file(folder / "no", 1).error().kind == ErrorKind::not_found);
    CHECK_FALSE(read_regular_file(folder / "fifo"));
    std::ofstream(folder / "large") << "";
    std::filesystem::resize_file(folder / "large", (16U << 20U) + 1);
    CHECK_FALSE(read_regular_file(folder / "large"));
}

} // namespace regular_file_test
