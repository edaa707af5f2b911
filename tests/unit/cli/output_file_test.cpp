#include "client/cli/output_file.hpp"
#include "shared/core/fd.hpp"
#include "unit/node/scratch.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace output_file_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

struct Place {
    OutputFile file(const char* name) const { return {folder / name, "--report"}; }
    std::string text(const char* name) const {
        std::ifstream stream(folder / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    mode_t mode(const char* name) const {
        struct stat status{};
        REQUIRE(::lstat((folder / name).c_str(), &status) == 0);
        return status.st_mode & 07777U;
    }
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder.path), {}));
    }

    Scratch folder{};
};

} // namespace

TEST_CASE("it is written whole, as the umask says, and then with the mode that it has") {
    const Place place;
    const auto file = place.file("page.html");
    const auto mask = ::umask(027);
    CHECK(file.check().has_value());
    CHECK(place.entries() == 0); // it leaves no trace
    CHECK(file.write("one").has_value());
    ::umask(mask);
    CHECK(place.mode("page.html") == 0640);
    REQUIRE(::chmod((place.folder / "page.html").c_str(), 0604) == 0);
    CHECK(file.write("two").has_value());
    CHECK(place.text("page.html") == "two");
    CHECK(place.mode("page.html") == 0604);
    file.remove();
    CHECK(place.entries() == 0);
}

TEST_CASE("one's own link stays, and what it leads to is replaced, and removed") {
    const Place place;
    fs::create_directory(place.folder / "there");
    fs::create_symlink("there/page.html", place.folder / "page.html");
    const auto file = place.file("page.html");
    std::ofstream(place.folder / "there/page.html") << "old";
    CHECK(file.check().has_value());
    CHECK(file.write("new").has_value());
    CHECK(fs::is_symlink(fs::symlink_status(place.folder / "page.html")));
    CHECK(place.text("there/page.html") == "new");
    file.remove();
    CHECK(fs::is_empty(place.folder / "there"));
}

TEST_CASE("another user's link, and what it leads to, is left alone") {
    if (::geteuid() != 0) {
        return; // who else could make one
    }
    const Place place;
    std::ofstream(place.folder / "victim") << "untouched";
    fs::create_symlink("victim", place.folder / "page.html");
    REQUIRE(::lchown((place.folder / "page.html").c_str(), 4242, 77) == 0);
    const auto file = place.file("page.html");
    const auto refused = file.write("x");
    REQUIRE(refused.has_error());
    CHECK(refused.error().kind == ErrorKind::usage);
    CHECK(refused.error().where == place.folder / "page.html");
    CHECK(refused.error().message == "cannot be written: Operation not permitted");
    CHECK(refused.error().hint == "give --report a file in a folder that you may write to");
    CHECK(file.check().has_error());
    file.remove();
    CHECK(place.text("page.html") == "untouched");
    fs::create_symlink("page.html", place.folder / "own"); // one's own, which leads to it
    CHECK(place.file("own").write("x").has_error());
    CHECK(place.text("victim") == "untouched");
}

TEST_CASE("links in a circle, and one to a file that is to be made") {
    const Place place;
    fs::create_symlink("b", place.folder / "a");
    fs::create_symlink("a", place.folder / "b");
    CHECK(place.file("a").check().error().message == "cannot be written: Too many levels of symbolic links");
    fs::create_symlink("new", place.folder / "link");
    CHECK(place.file("link").write("text").has_value());
    CHECK(place.text("new") == "text");
}

TEST_CASE("another user's file gives the next one no mode of its own") {
    if (::geteuid() != 0) {
        return;
    }
    const Place place;
    std::ofstream(place.folder / "page.html") << "planted";
    REQUIRE(::chmod((place.folder / "page.html").c_str(), 0666) == 0);
    REQUIRE(::lchown((place.folder / "page.html").c_str(), 4242, 77) == 0);
    const auto mask = ::umask(022);
    CHECK(place.file("page.html").write("x").has_value());
    ::umask(mask);
    CHECK(place.mode("page.html") == 0644);
}

TEST_CASE("a folder, and a file in none, is an error before the work") {
    const Place place;
    fs::create_directory(place.folder / "page.html");
    CHECK(place.file("page.html").check().error().message == "cannot be written: Is a directory");
    CHECK(place.file("none/page.html").check().error().message ==
          "cannot be written: No such file or directory");
}

TEST_CASE("a pipe of one's own is written into, and stays") {
    const Place place;
    REQUIRE(::mkfifo((place.folder / "pipe").c_str(), 0600) == 0);
    const Fd reader(::open((place.folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    const auto file = place.file("pipe");
    CHECK(file.check().has_value());
    CHECK(file.write("text").has_value());
    char text[8] = "";
    CHECK(::read(reader.get(), text, sizeof text) == 4);
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const Fd out(ends[0]);
    const Fd in(ends[1]);
    const OutputFile by_number("/proc/self/fd/" + std::to_string(in.get()), "--report"); // as /dev/stdout is
    CHECK(by_number.check().has_value());
    CHECK(by_number.write("again").has_value());
    CHECK(::read(out.get(), text, sizeof text) == 5);
    file.remove();
    CHECK(fs::is_fifo(place.folder / "pipe"));
    if (::geteuid() == 0) {
        REQUIRE(::lchown((place.folder / "pipe").c_str(), 4242, 77) == 0);
        CHECK(file.write("text").has_error());
    }
}

} // namespace output_file_test
