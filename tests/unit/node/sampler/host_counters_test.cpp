#include "node/sampler/host_counters.hpp"

#include <doctest/doctest.h>

namespace host_counters_test {

using namespace dockdist;
using namespace dockdist::node;

TEST_CASE("busy time is all but idle and waiting, and guests count once") {
    CHECK(parse_busy_ticks("cpu  10 1 20 1000 500 3 4 5 7 8\ncpu0 1 1\n") == 43);
    CHECK_FALSE(parse_busy_ticks("cpu0 1 2 3 4 5\n"));
    CHECK_FALSE(parse_busy_ticks(""));
}

TEST_CASE("memory that is used is what could not be had") {
    const auto memory = parse_meminfo("MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    400 kB\n");
    REQUIRE(memory);
    CHECK(memory->total == 1000 * 1024);
    CHECK(memory->available == 400 * 1024);
    CHECK_FALSE(parse_meminfo("MemAvailable: 4 kB\n"));
}

TEST_CASE("disks count sectors of 512 bytes") {
    const auto disks = parse_diskstats("   8       0 sda 1 2 10 4 5 6 20 8 0 9 10\n"
                                       " 259       1 nvme0n1p1 1 2 3 4\n");
    REQUIRE(disks.size() == 1);
    CHECK(disks.at("sda").read == 5120);
    CHECK(disks.at("sda").written == 10240);
}

TEST_CASE("interfaces, also where the count touches the name") {
    const auto net = parse_net_dev("Inter-|   Receive\n face |bytes packets\n"
                                   "  eth0:12345 1 0 0 0 0 0 0 678 1 0 0 0 0 0 0\n"
                                   "    lo: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n bad: 1\n");
    REQUIRE(net.size() == 2);
    CHECK(net.at("eth0") == wire::TrafficCount{.received = 12345, .sent = 678});
    CHECK(net.at("lo").sent == 6);
}

TEST_CASE("file systems that can fill up, each once, and none that may hang") {
    CHECK(watched_mounts("20 1 8:1 / /data\\040sets rw,noatime - ext4 /dev/sda1 rw\n"
                         "21 1 0:50 / / rw,relatime - overlay overlay rw\n"
                         "22 1 8:1 /x /again rw - ext4 /dev/sda1 rw\n"
                         "23 1 0:60 / /nfs rw - nfs4 server:/ rw\n"
                         "24 1 0:61 / /dev/shm rw master:1 - tmpfs shm rw\n"
                         "25 1 0:62 / /dev rw - tmpfs tmpfs rw\n"
                         "26 1 8:2 / /etc/hosts rw - ext4 /dev/sda2 rw\n"
                         "27 1 8:3 / /models ro - xfs /dev/sda3 rw\n"
                         "28 1 0:63 / /dev/shm rw - tmpfs shm rw\n"
                         "29 1 8:4 /" +
                         std::string(300, 'x') + " /" + std::string(300, 'x') +
                         " rw - ext4 /dev/sda4 rw\n"
                         "nonsense\n") == std::vector<std::string>{"/", "/data sets", "/dev/shm"});
}

} // namespace host_counters_test
