#include "shared/core/program_path.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace program_path_test {

using namespace dockdist;
namespace fs = std::filesystem;

namespace {

// A folder to stand in, with a program in it.
struct Scene {
    fs::path before = fs::current_path();
    std::string path_before = std::getenv("PATH");
    Scratch scratch{};
    fs::path here = scratch.path;
    Scene() {
        fs::create_directories(here / "tools");
        for (const auto* name : {"planted", "tools/planted"}) {
            std::ofstream(here / name) << "#!/bin/sh\n";
            ::chmod((here / name).c_str(), 0755);
        }
        std::ofstream(here / "tools/text") << "";
        fs::current_path(here);
    }
    Scene(const Scene&) = delete;
    Scene& operator=(const Scene&) = delete;
    ~Scene() {
        ::setenv("PATH", path_before.c_str(), 1);
        fs::current_path(before);
    }
};

} // namespace

TEST_CASE("a program is looked for in the whole paths of PATH alone") {
    const Scene scene;
    for (const auto* path : {"", ":", ".:/bin", "/bin:", "tools", "./tools:/bin"}) {
        ::setenv("PATH", path, 1);
        CHECK_MESSAGE(find_in_path("planted").empty(), path);
    }
    ::setenv("PATH", ("tools:" + (scene.here / "tools").string()).c_str(), 1);
    CHECK(find_in_path("planted") == scene.here / "tools/planted");
    CHECK(find_in_path("text").empty()); // nobody may run it
    CHECK(find_in_path("./planted") == "./planted");
    CHECK(find_in_path("").empty());
    ::unsetenv("PATH");
    CHECK(find_in_path("sh") == "/bin/sh");
}

} // namespace program_path_test
