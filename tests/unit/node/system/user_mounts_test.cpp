#include "node/system/user_mounts.hpp"

#include <doctest/doctest.h>

namespace user_mounts_test {

using namespace dockdist::node;

TEST_CASE("the table of mounts tells each one's parent; lines that are none are skipped") {
    const auto parents = parse_mount_parents("36 35 98:0 / / rw - ext4 /dev/root rw\n"
                                             "40 36 0:42 /a\\040b /etc rw shared:3 - ext4 /dev/sda1 rw\n"
                                             "\nx 1 2\n7\n");
    CHECK(parents == std::map<int, int>{{36, 35}, {40, 36}});
}

TEST_CASE("a target where nothing is mounted holds nothing, and a missing one neither") {
    const UserMounts mounts({"/", "/no/such/target"});
    CHECK_FALSE(mounts.hold("/no/such/target"));
    CHECK_FALSE(mounts.hold("/no/such/target/below"));
    CHECK_FALSE(UserMounts({}).hold("/proc/self"));
}

TEST_CASE("a mount holds what is in it and what would be made there, by whatever way") {
    const UserMounts mounts({"/proc"});
    CHECK(mounts.hold("/proc"));
    CHECK(mounts.hold("/proc/sys/kernel"));
    CHECK(mounts.hold("/proc/no/such/entry"));
    CHECK(mounts.hold("/dev/../proc/new"));
    CHECK_FALSE(mounts.hold("/procession"));
}

} // namespace user_mounts_test
