#include "node/check/kernel.hpp"
#include "node/check/names.hpp"
#include "node/system/side_by_side.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <unistd.h>

namespace facts_test {

using namespace dockdist::node;
using nlohmann::json;

TEST_CASE("Xid errors are found among other lines of the kernel's log, each GPU's once") {
    CHECK(
        parse_xids(
            "6,1,2,-;eth0: link up\n4,2,3,-;NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', GPU has fallen "
            "off the bus.\n"
            "4,3,4,-;NVRM: Xid (PCI:0000:3b:00): 79, again\n4,4,5,-;NVRM: Xid (PCI:0000:af:00): 48, DBE\n") ==
        std::vector<dockdist::wire::XidError>{{"0000:3b:00", 79}, {"0000:af:00", 48}});
    CHECK(parse_xids("NVRM: Xid (PCI:0000:3b:00): many").empty());
    CHECK(parse_xids("NVRM: Xid (PCI:").empty());
    CHECK(parse_xids("NVRM: Xid (PCI:): 79, pid=1").empty());
    CHECK(parse_xids("").empty());
}

TEST_CASE("parts run side by side; one that hangs or dies is told, and keeps nobody") {
    int both[2];
    REQUIRE(::pipe(both) == 0);
    const auto results = side_by_side({{"waits for the next",
                                        [&]() -> json {
                                            char byte = 0;
                                            return ::read(both[0], &byte, 1) == 1 ? byte : 0;
                                        }},
                                       {"next", [&]() -> json { return ::write(both[1], "\7", 1); }},
                                       {"dies",
                                        []() -> json {
                                            ::kill(::getpid(), SIGKILL);
                                            return nullptr;
                                        }},
                                       {"nothing", []() -> json { return nullptr; }}},
                                      20000);
    CHECK(results.at("waits for the next") == 7);
    CHECK(results.at("next") == 1);
    CHECK(results.at("dies").at("error").at("message") == "ended without an answer");
    CHECK(results.at("nothing").is_null());
    const auto late = side_by_side({{"hangs",
                                     []() -> json {
                                         ::pause();
                                         return nullptr;
                                     }},
                                    {"well", []() -> json { return 1; }}},
                                   200);
    CHECK(late.at("hangs").at("error").at("kind") == "timeout");
    CHECK(late.at("well") == 1);
    CHECK(side_by_side({}, 100) == json::object());
    ::close(both[0]);
    ::close(both[1]);
}

} // namespace facts_test
