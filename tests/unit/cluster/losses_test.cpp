// Files on no mount, which go with a container.
#include "fake_cluster.hpp"

#include <doctest/doctest.h>

namespace losses_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

// A cluster whose first node has something to lose once its file has changed.
class Losing : public FakeCluster {
public:
    Losing() : FakeCluster(2) {
        CHECK(up().errors.empty());
        for (auto* fake : fakes) {
            fake->containers.begin()->second.diff = {.paths = {"/out", "/out/ckpt.pt"},
                                                     .written = Bytes{2048}};
        }
        spec.hosts[0].env["NVIDIA_A"] = "1";
        options.may_lose = [this](Errors losses) -> Task<bool> {
            told.push_back(std::move(losses));
            co_return agrees;
        };
    }

    std::vector<Errors> told{};
    bool agrees = false;
};

} // namespace

TEST_CASE("who does not agree keeps the container, its files and the cluster as it was") {
    Losing cluster;
    const auto before = cluster.log.size();
    const auto result = cluster.up("a2");
    REQUIRE(result.errors.size() == 1);
    CHECK(result.errors[0].message == "nothing was changed: files would be lost");
    REQUIRE(cluster.told.size() == 1);
    REQUIRE(cluster.told[0].size() == 1); // of the node alone that is made anew
    CHECK(
        to_text(cluster.told[0][0]) ==
        "node-0 on node-0 (tcp://10.0.0.1): 1 file on no mount is lost with it, up to 2.0 KiB: /out/ckpt.pt");
    for (auto call = cluster.log.begin() + static_cast<std::ptrdiff_t>(before); call != cluster.log.end();
         ++call) {
        CAPTURE(*call);
        CHECK(call->find(": create_container ") == std::string::npos);
        CHECK(call->find("remove") == std::string::npos);
        CHECK(call->find("stop") == std::string::npos);
    }
}

TEST_CASE("who agrees is asked once; where nothing is lost nobody is") {
    Losing cluster;
    cluster.agrees = true;
    CHECK(cluster.up("a2").errors.empty());
    CHECK(cluster.told.size() == 1);
    cluster.spec.hosts[0].env["NVIDIA_A"] = "2"; // the new container has written nothing
    CHECK(cluster.up("a3").errors.empty());
    CHECK(cluster.up("a4").errors.empty()); // nothing is to be done
    CHECK(cluster.told.size() == 1);
}

TEST_CASE("an engine that does not tell is no reason to go on in silence") {
    Losing cluster;
    cluster.fakes[0]->fail("container_diff", {ErrorKind::engine, "", "no diff here", ""});
    CHECK_FALSE(cluster.up("a2").errors.empty());
    REQUIRE(cluster.told.size() == 1);
    CHECK(cluster.told[0][0].message.ends_with("does not say which: no diff here"));
}

} // namespace losses_test
