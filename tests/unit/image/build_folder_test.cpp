// The folder that BuildKit asks for: what of it there is, and what is read of it.
#include "client/image/build_folder.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <array>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace build_folder_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

void put(const std::string& path, const std::string& content = "x") {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << content;
}

BuildFolders read(const std::string& folder, const std::string& dockerfile = "Dockerfile") {
    const std::atomic<bool> stop = false;
    auto read = read_build_folder(folder, dockerfile, stop);
    REQUIRE(read.has_value());
    return *read;
}

std::string names(const BuildFolders& folders, const std::string& of) {
    std::string text;
    for (const auto& file : folders.folders.at(of)->list()) {
        text += (text.empty() ? "" : " ") + file.name;
    }
    return text;
}

} // namespace

TEST_CASE(
    "the Dockerfile goes by itself; the rest is what the rules leave, in an order that the engine demands") {
    const Scratch scratch;
    put(scratch / "t/docker/train", "FROM x\n");
    put(scratch / "t/docker/train.dockerignore", "docker\n.dockerignore\n");
    put(scratch / "t/.dockerignore", "*");
    put(scratch / "t/a/b", "content");
    put(scratch / "t/a.txt");
    const timespec in_2286{.tv_sec = 10'000'000'000, .tv_nsec = 0};
    const std::array far{in_2286, in_2286};
    REQUIRE(::utimensat(AT_FDCWD, (scratch / "t/a.txt").c_str(), far.data(), 0) == 0);
    fs::create_symlink("a/b", scratch / "t/link");
    const auto folders = read(scratch / "t", "./docker/train");
    CHECK(folders.dockerfile == "docker/train");
    CHECK(names(folders, "dockerfile") == "docker docker/train");
    CHECK(names(folders, "context") == "a a/b a.txt link");
    const auto& list = folders.folders.at("context")->list();
    CHECK(S_ISDIR(list[0].mode));
    CHECK(list[1].size == 7);
    CHECK(list[1].time > 0);
    CHECK(list[2].time > list[1].time);
    CHECK(S_ISLNK(list[3].mode));
    CHECK(list[3].target == "a/b");
    CHECK(folders.key.size() == 64);
    CHECK(read(scratch / "t", "docker/train").key == folders.key);
}

TEST_CASE("files are read in pieces, as they are when they are asked for") {
    const Scratch scratch;
    put(scratch / "t/Dockerfile");
    put(scratch / "t/a", "0123456789");
    put(scratch / "t/b", "b");
    const auto folders = read(scratch / "t");
    auto& files = *folders.folders.at("context");
    CHECK(files.read(1, 0, 4).value() == "0123");
    CHECK(files.read(2, 0, 4).value() == "b");
    CHECK(files.read(1, 8, 4).value() == "89");
    CHECK(files.read(1, 10, 4).value().empty());
    put(scratch / "t/a", "new");
    CHECK(files.read(1, 0, 4).value() == "new");
    fs::remove(scratch / "t/b");
    fs::create_symlink("/etc/passwd", scratch / "t/b"); // nothing outside is read
    const auto error = files.read(2, 0, 4).error();
    CHECK(error.kind == ErrorKind::config);
    CHECK(error.where == scratch / "t/b");
    CHECK(error.message.starts_with("cannot be read: "));
    fs::remove(scratch / "t/b");
    CHECK(files.read(2, 0, 4).error().message == "is gone since the build started");
}

TEST_CASE("a Dockerfile that is a link within the folder is what it leads to") {
    const Scratch scratch;
    put(scratch / "t/docker/gpu");
    fs::create_symlink("docker/gpu", scratch / "t/Dockerfile");
    const auto folders = read(scratch / "t");
    CHECK(folders.dockerfile == "docker/gpu");
    CHECK(names(folders, "dockerfile") == "docker docker/gpu");
}

TEST_CASE("a folder that cannot be built from is told, and the reading ends when nobody waits for it") {
    const Scratch scratch;
    const std::atomic<bool> stop = true;
    CHECK(read_build_folder(scratch / "t", "Dockerfile", stop).error().message ==
          "there is no such folder to build from");
    put(scratch / "t/Dockerfile");
    CHECK(read_build_folder(scratch / "t", "Dockerfile", stop).error().kind == ErrorKind::interrupted);
}

} // namespace build_folder_test
