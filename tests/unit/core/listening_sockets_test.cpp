#include "shared/core/listening_sockets.hpp"

#include <doctest/doctest.h>

namespace listening_sockets_test {

using namespace dockdist;

TEST_CASE("of a port the listening sockets, not the connected ones") {
    constexpr auto* table =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:22B8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 f "
        "100\n"
        "   1: 0100007F:22B8 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 f "
        "100\n"
        "   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 f "
        "100\n"
        "   3: 0A0000F0:22B8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4714 1 f "
        "100\n"
        "cut: 0100007F:22B8 00000000:0000 0A";
    CHECK(listening_sockets(table, 8888) == std::set<std::string>{"socket:[4711]", "socket:[4714]"});
    CHECK(listening_sockets(table, 22) == std::set<std::string>{"socket:[4713]"});
    CHECK(listening_sockets(table, 23).empty());
    CHECK(listening_sockets("", 22).empty());
}

TEST_CASE("connections whose process is gone are told from a listener and from those that are in use") {
    constexpr auto* table =
        "   0: 0100007F:08AE 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 f "
        "100\n"
        "   1: 0100007F:08AE 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 f "
        "100\n"
        "   2: 0100007F:08AF 0100007F:9C40 06 00000000:00000000 03:00000F2A 00000000     0        0 0 3 f\n"
        "   3: 0100007F:9C40 0100007F:08AE 06 00000000:00000000 03:00000F2A 00000000     0        0 0 3 f\n";
    CHECK_FALSE(has_remains(table, 2222));
    CHECK(has_remains(table, 2223));
    CHECK_FALSE(has_remains("", 2223));
}

} // namespace listening_sockets_test
