#include "client/spec/load_spec.hpp"
#include "client/spec/yaml_tree.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace spec_file_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

class Folder {
public:
    Folder() : path_(fs::temp_directory_path() / ("dockdist-spec-" + std::to_string(getpid()))) {
        fs::create_directories(path_ / "a/b");
    }
    ~Folder() { fs::remove_all(path_); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const fs::path& path() const { return path_; }
    void write(const fs::path& name, const std::string& text) const { std::ofstream(path_ / name) << text; }

private:
    fs::path path_;
};

} // namespace

TEST_CASE("cluster.yaml is found here and in a parent folder, the nearest first") {
    const Folder folder;
    folder.write("cluster.yaml", "");
    CHECK(find_spec_file(folder.path() / "a/b").value() == folder.path() / "cluster.yaml");
    folder.write("a/cluster.yaml", "");
    CHECK(find_spec_file(folder.path() / "a/b").value() == folder.path() / "a/cluster.yaml");
}

TEST_CASE("no cluster.yaml anywhere is an error that says what to do") {
    const auto found = find_spec_file("/proc/self");
    REQUIRE_FALSE(found.has_value());
    CHECK(to_text(found.error()) == "/proc/self: no cluster.yaml here or in a parent folder\n"
                                    "  create one with `dockdist init`, or name one with `--file`");
}

TEST_CASE("a file is loaded from disk") {
    const Folder folder;
    folder.write("a/cluster.yaml", "image: i\nhosts: [ssh://h]\n");
    const auto loaded = load_spec_file(folder.path() / "a/cluster.yaml", test::environment());
    CHECK_MESSAGE(loaded.errors.empty(), test::all_text(loaded.errors));
    CHECK(loaded.spec.name == ClusterName("a"));
}

TEST_CASE("a file that is not there, a folder, an endless device and a pipe are errors") {
    const Folder folder;
    CHECK(load_spec_file(folder.path() / "no.yaml", test::environment()).errors.at(0).message ==
          "there is no such file");
    CHECK(load_spec_file(folder.path(), test::environment()).errors.at(0).message ==
          "the file cannot be read: it is a folder");
    CHECK(load_spec_file("/dev/zero", test::environment()).errors.at(0).message ==
          "the file cannot be read: it is not a regular file");
    REQUIRE(::mkfifo((folder.path() / "fifo").c_str(), 0600) == 0);
    CHECK(load_spec_file(folder.path() / "fifo", test::environment()).errors.at(0).message ==
          "the file cannot be read: it is a pipe, not a file");
}

TEST_CASE("a file of more than a mebibyte is refused by its size") {
    const auto loaded = test::load(std::string(max_yaml_bytes + 1, '#'));
    REQUIRE(loaded.errors.size() == 1);
    CHECK(loaded.errors[0].message ==
          "the file has 1.0 MiB, more than the 1.0 MiB that a cluster.yaml may have");
}

} // namespace spec_file_test
