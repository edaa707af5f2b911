#include "cli/host_lists.hpp"
#include "fakes/run_task.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace host_lists_test {

using namespace dockdist;

namespace {

// A folder with a cluster.yaml in it.
struct Folder {
    std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("host-lists-test-" + std::to_string(::getpid()));
    std::filesystem::path spec = path / "cluster.yaml";
    Folder() {
        std::filesystem::create_directories(path);
        std::ofstream(spec) << "image: a\n";
        ::chmod(spec.c_str(), 0644);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() { std::filesystem::remove_all(path); }

    Result<std::string> read(const HostSource& source) const {
        boost::asio::io_context io;
        auto lists = run_task(io, read_host_lists(io.get_executor(), {source}, spec));
        REQUIRE(lists.size() == 1);
        return lists.begin()->second;
    }
};

} // namespace

TEST_CASE("a list of hosts is a file's text, or what a command prints") {
    const Folder folder;
    std::ofstream(folder.path / "hosts") << "gpu[1-2]\n";
    CHECK(*folder.read({.file = folder.path / "hosts"}) == "gpu[1-2]\n");
    CHECK(*folder.read({.command = {"echo", "a  b", "$HOME;c"}}) == "a  b $HOME;c\n"); // no shell saw that
    CHECK(folder.read({.file = folder.path / "no"}).error().message.ends_with(": No such file or directory"));
    CHECK(folder.read({.file = folder.path}).error().message.ends_with(": it is a folder"));
}

TEST_CASE("a command that fails is told with its words") {
    const Folder folder;
    const auto error = folder.read({.command = {"sh", "-c", "echo a; echo not today >&2; exit 3"}}).error();
    CHECK(error.kind == ErrorKind::config);
    CHECK(error.message.ends_with("failed with exit code 3: not today"));
    CHECK(folder.read({.command = {"/no/such/program"}}).error().message.find("/no/such/program") !=
          std::string::npos);
    CHECK(folder.read({.command = {"yes", "0123456789012345678901234567890123456789"}})
              .error()
              .message.ends_with("has more than 16.0 MiB"));
}

TEST_CASE("no command is run that everybody could have written") {
    const Folder folder;
    ::chmod(folder.spec.c_str(), 0666);
    const HostSource source{.command = {"touch", folder.path / "run"}};
    CHECK(folder.read(source).error().message.ends_with("may be written by everybody"));
    CHECK_FALSE(std::filesystem::exists(folder.path / "run"));
    ::chmod(folder.spec.c_str(), 0644);
    if (::geteuid() == 0) { // else a file cannot be another one's
        REQUIRE(::chown(folder.spec.c_str(), 12345, 0) == 0);
        CHECK(folder.read(source).error().message.ends_with("is another user's file"));
        CHECK_FALSE(std::filesystem::exists(folder.path / "run"));
        REQUIRE(::chown(folder.spec.c_str(), 0, 0) == 0);
    }
    CHECK(folder.read(source)->empty());
    CHECK(std::filesystem::exists(folder.path / "run"));
}

} // namespace host_lists_test
