#include "client/relay/relay_peers.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace relay_peers_test {

using namespace dockdist;

TEST_CASE("each relay asks the nearest three before it that can be reached, each with a key of the two") {
    CHECK(make_peers({}).empty());
    const auto peers = make_peers({"a 1", "b 1", "", "d 1", "e 1"});
    std::vector<std::vector<std::string>> asked;
    std::vector<std::vector<int>> asking;
    std::set<std::string> keys;
    for (const auto& each : peers) {
        asked.emplace_back();
        for (const auto& pair : each.upstreams) {
            asked.back().push_back(pair.address);
            CHECK(keys.insert(pair.key).second);
        }
        asking.emplace_back();
        for (const auto& pair : each.downstreams) {
            asking.back().push_back(pair.asking);
        }
    }
    CHECK(asked == std::vector<std::vector<std::string>>{
                       {}, {"a 1"}, {"b 1", "a 1"}, {"b 1", "a 1"}, {"d 1", "b 1", "a 1"}});
    CHECK(asking == std::vector<std::vector<int>>{{1, 2, 3, 4}, {2, 3, 4}, {}, {4}, {}});
    CHECK(peers[3].downstreams[0].key == peers[4].upstreams[0].key);
    CHECK(peers[3].downstreams[0].address.empty());
    CHECK(make_peers({"a 1", "b 1", "c 1", "d 1", "e 1"})[0].downstreams.size() == 3);
}

TEST_CASE("where the first one has it all, everybody asks it last") {
    const auto peers = make_peers({"o 1", "a 1", "b 1", "c 1", "d 1"}, true);
    std::vector<std::string> asked;
    for (const auto& pair : peers[4].upstreams) {
        asked.push_back(pair.address);
    }
    CHECK(asked == std::vector<std::string>{"c 1", "b 1", "a 1", "o 1"});
    CHECK(peers[0].downstreams.size() == 4);
    CHECK(peers[4].upstreams.back().key == peers[0].downstreams.back().key);
    CHECK(make_peers({"", "a 1", "b 1", "c 1", "d 1"}, true)[4].upstreams.size() ==
          3); // it is not to be reached
}

} // namespace relay_peers_test
