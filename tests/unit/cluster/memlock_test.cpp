// `memlock: auto`: asked for as unlimited, and left to an engine that refuses.
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

namespace memlock_test {

using namespace dockdist;
using namespace dockdist::testing;

TEST_CASE("a host whose engine refuses unlimited memlock gets its node with what that gives") {
    FakeCluster cluster(2);
    const Error refused{ErrorKind::engine, "", "error setting rlimit type 8: operation not permitted", ""};
    cluster.fakes[0]->fail("start_container dockdist-vision-node-0", refused);
    const auto limits = [&](std::size_t host) {
        std::vector<std::string> names;
        for (const auto& limit :
             cluster.fakes[host]->container("dockdist-vision-node-" + std::to_string(host)).config.ulimits) {
            names.push_back(limit.name);
        }
        return names;
    };
    SUBCASE("by default") {
        CHECK(cluster.up().errors.empty());
        CHECK(limits(0) == std::vector<std::string>{"stack"});
        CHECK(limits(1) == std::vector<std::string>{"memlock", "stack"});
        CHECK_FALSE(cluster.up("a2").changed);
    }
    SUBCASE("not where the file insists") {
        cluster.spec.container.ulimits["memlock"] = {-1, -1};
        const auto result = cluster.up();
        REQUIRE(result.errors.size() == 1);
        CHECK(result.errors[0].message == refused.message);
        CHECK(cluster.containers().empty());
    }
    SUBCASE("what else it refuses is told") {
        cluster.fakes[0]->fail("start_container dockdist-vision-node-0",
                               {ErrorKind::engine, "", "no space left on device", ""});
        CHECK(cluster.up().errors.size() == 1);
    }
}

} // namespace memlock_test
