#include "node/boot/wrappers.hpp"
#include "node/system/os.hpp"
#include "unit/node/scratch.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace wrappers_test {

using namespace dockdist::node;

TEST_CASE("the image's own program is the first executable one outside of the toolkit") {
    const Scratch scratch;
    for (const auto* folder : {"data", "bin"}) {
        REQUIRE(::mkdir((scratch / folder).c_str(), 0700) == 0);
        const Owner own{::geteuid(), ::getegid()};
        const mode_t mode = std::string_view(folder) == "bin" ? 0700 : 0600;
        REQUIRE(replace_file(scratch / folder + "/rsync", "x", mode, own).has_value());
    }
    Environment environment;
    environment.set("PATH",
                    "/opt/dockdist/bin:/no/such/folder:" + (scratch / "data") + ":" + (scratch / "bin"));
    CHECK(image_program("rsync", environment) == scratch / "bin/rsync");
    CHECK(image_program("scontrol", environment).empty());
}

} // namespace wrappers_test
