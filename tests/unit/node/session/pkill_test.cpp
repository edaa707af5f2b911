#include "node/session/pkill.hpp"

#include <doctest/doctest.h>

namespace pkill_test {

using namespace dockdist::node;

TEST_CASE("what launchers call is taken, and what else pkill can do is left to the image's") {
    CHECK(is_pkill_by_pattern({"-f", "deepspeed.launcher.launch"}));
    CHECK(is_pkill_by_pattern({"-9", "-f", "train"}));
    CHECK(is_pkill_by_pattern({"-SIGTERM", "--full", "train"}));
    CHECK(is_pkill_by_pattern({"-f", "-KILL", "a b"}));
    CHECK_FALSE(is_pkill_by_pattern({"train"}));
    CHECK_FALSE(is_pkill_by_pattern({"-f"}));
    CHECK_FALSE(is_pkill_by_pattern({"-f", "a", "b"}));
    CHECK_FALSE(is_pkill_by_pattern({"-u", "root", "-f", "a"}));
    CHECK_FALSE(is_pkill_by_pattern({"-0x9", "-f", "a"}));
}

} // namespace pkill_test
