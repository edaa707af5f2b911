#include "node/session/proxies.hpp"

#include <doctest/doctest.h>

namespace node_proxies_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

Environment environment_of(const std::vector<std::pair<std::string, std::string>>& variables) {
    Environment environment;
    for (const auto& [name, value] : variables) {
        environment.set(name, value);
    }
    return environment;
}

} // namespace

TEST_CASE("no proxy leads to a peer, whoever has set it and however it is written") {
    const auto peers = [] { return std::vector<std::string>{"gpu1", "10.0.0.1"}; };
    for (const auto* name : {"http_proxy", "HTTPS_PROXY", "ALL_PROXY"}) {
        auto environment = environment_of({{name, "http://p"}, {"NO_PROXY", "x,gpu1"}, {"no_proxy", ".y"}});
        spare_peers(environment, peers);
        CHECK(environment.get("no_proxy") == ".y,x,gpu1,localhost,127.0.0.1,::1,10.0.0.1");
        CHECK(environment.get("NO_PROXY") == environment.get("no_proxy"));
    }
    auto without = environment_of({{"http_proxy", ""}, {"NO_PROXY", "x"}});
    spare_peers(without, [] {
        FAIL("nobody needs to know");
        return std::vector<std::string>();
    });
    CHECK(without.get("NO_PROXY") == "x");
    CHECK_FALSE(without.get("no_proxy"));
}

TEST_CASE("the names of thousands find room in a variable") {
    wire::Members members;
    for (int i = 0; i < 4096; ++i) {
        members.nodes.push_back({.node = "node-10-0-0-" + std::to_string(i), .address = "10.0.0.1"});
    }
    auto environment = environment_of({{"http_proxy", "http://p"}});
    spare_peers(environment, [&] { return peers_of(members); });
    CHECK(environment.get("no_proxy")->size() < (40U << 10U));
    CHECK(environment.get("no_proxy")->find("node-10-0-0-1000") != std::string::npos);
}

TEST_CASE("proxies of the client are those that the container does not have, in either case") {
    auto environment = environment_of({{"HTTP_PROXY", "http://own"}, {"no_proxy", "gpu1"}});
    take_proxies(environment, environment_of({{"no_proxy", ".y"},
                                              {"http_proxy", "http://p"},
                                              {"HTTP_PROXY", "http://p"},
                                              {"https_proxy", "http://q"},
                                              {"HTTPS_PROXY", "http://q"},
                                              {"LD_PRELOAD", "/evil"}}));
    CHECK(environment.entries() == std::vector<std::string>{"HTTP_PROXY=http://own", "no_proxy=.y,gpu1",
                                                            "https_proxy=http://q", "HTTPS_PROXY=http://q"});
}

} // namespace node_proxies_test
