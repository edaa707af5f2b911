#include "node/system/amd_gpus.hpp"
#include "unit/node/scratch.hpp"

#include <fstream>

namespace amd_gpus_test {

using namespace dockdist::node;

TEST_CASE("a device is the container's own in its /dev alone, not by a link, nor in a mount") {
    const Scratch dev;
    const Scratch elsewhere;
    std::ofstream(dev / "kfd") << "";
    std::ofstream(elsewhere / "renderD128") << "";
    std::filesystem::create_directories(dev / "dri");
    std::ofstream(dev / "dri/renderD128") << "";
    std::filesystem::create_symlink(elsewhere / "renderD128", dev / "dri/renderD129");
    const UserMounts none({});
    CHECK(is_own_device(dev / "kfd", dev.path, none));
    CHECK(is_own_device(dev / "dri/renderD128", dev.path, none));
    CHECK_FALSE(is_own_device(dev / "dri/renderD129", dev.path, none));
    CHECK_FALSE(is_own_device(dev / "dri/renderD130", dev.path, none));
    // Of another file system, as a device that is mounted from the host is.
    CHECK_FALSE(is_own_device("/proc/version", dev.path, none));
    CHECK(is_own_device("/proc/version", "/proc", none));
    CHECK_FALSE(is_own_device("/proc/version", "/proc", UserMounts({"/proc"})));
}

} // namespace amd_gpus_test
