#include "probe/library_paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

namespace library_paths_test {

using namespace dockdist::probe;
using Strings = std::vector<std::string>;

namespace {

std::ptrdiff_t place(const Strings& paths, const std::string& path) {
    const auto found = std::ranges::find(paths, path);
    REQUIRE_MESSAGE(found != paths.end(), path);
    return found - paths.begin();
}

} // namespace

TEST_CASE("libcuda: LD_LIBRARY_PATH, then the loader, then folders") {
    const auto paths = cuda_paths({.library_path = "/a:relative:/b:"});
    CHECK(Strings(paths.begin(), paths.begin() + 3) ==
          Strings{"/a/libcuda.so.1", "/b/libcuda.so.1", "libcuda.so.1"});
    CHECK(place(paths, "/usr/local/nvidia/lib64/libcuda.so.1") > 2);
    CHECK(place(paths, "/usr/lib/wsl/lib/libcuda.so.1") > 2);
}

TEST_CASE("libnccl: what PyTorch would take comes before the system's") {
    const std::map<std::string, Strings> folders{
        {"/opt/conda/lib", {"libz.so", "python3.11", "python3.12", "python2.7"}}, {"/usr/lib", {"python3"}}};
    const auto list = [&](const std::string& folder) {
        const auto found = folders.find(folder);
        return found == folders.end() ? Strings{} : found->second;
    };
    const auto paths = nccl_paths({.library_path = "/mine", .path = "/opt/conda/bin:/usr/bin:bin"}, list);
    CHECK(paths.front() == "/mine/libnccl.so.2");
    const auto wheel = place(paths, "/opt/conda/lib/python3.11/site-packages/nvidia/nccl/lib/libnccl.so.2");
    CHECK(wheel == 1);
    CHECK(place(paths, "/opt/conda/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2") > wheel);
    CHECK(place(paths, "/usr/lib/python3/dist-packages/nvidia/nccl/lib/libnccl.so.2") <
          place(paths, "libnccl.so.2"));
    CHECK(place(paths, "libnccl.so.2") < place(paths, "/usr/local/cuda/lib64/libnccl.so.2"));
}

TEST_CASE("AMD's: PyTorch's own before ROCm's, the newest ABI first, both from the same place") {
    const auto list = [](const std::string& folder) {
        return folder == "/opt/venv/lib" ? Strings{"python3.12"} : Strings{};
    };
    const SearchSettings settings{.library_path = "/mine", .virtual_env = "/opt/venv"};
    const auto hip = hip_paths(settings, list);
    CHECK(hip.front() == "/mine/libamdhip64.so.7");
    CHECK(place(hip, "/mine/libamdhip64.so") <
          place(hip, "/opt/venv/lib/python3.12/site-packages/torch/lib/libamdhip64.so"));
    CHECK(place(hip, "/opt/venv/lib/python3.12/site-packages/torch/lib/libamdhip64.so") <
          place(hip, "/opt/rocm/lib/libamdhip64.so.7"));
    CHECK(place(hip, "/opt/rocm/lib/libamdhip64.so.7") < place(hip, "/opt/rocm/lib/libamdhip64.so.5"));
    const auto rccl = rccl_paths(settings, list);
    CHECK(rccl.front() == "/mine/librccl.so.1");
    CHECK(place(rccl, "/opt/venv/lib/python3.12/site-packages/torch/lib/librccl.so") <
          place(rccl, "/opt/rocm/lib/librccl.so.1"));
    CHECK(place(rccl, "/opt/rocm/lib/librccl.so.1") < place(rccl, "librccl.so.1"));
}

TEST_CASE("a virtual environment is before the python in PATH, and nothing stands twice") {
    const auto list = [](const std::string& folder) {
        return folder.ends_with("/lib") ? Strings{"python3.12"} : Strings{};
    };
    const auto paths = nccl_paths(
        {.path = "/venv/bin:/usr/bin", .virtual_env = "/venv", .conda_prefix = "/c", .home = "/root"}, list);
    CHECK(paths[0] == "/venv/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2");
    CHECK(place(paths, "/root/.local/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2") >
          place(paths, "/c/lib/python3.12/site-packages/nvidia/nccl/lib/libnccl.so.2"));
    auto once = paths;
    std::ranges::sort(once);
    CHECK(std::ranges::adjacent_find(once) == once.end());
}

} // namespace library_paths_test
