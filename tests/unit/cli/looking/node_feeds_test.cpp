#include "client/cli/looking/node_feeds.hpp"
#include "fakes/cancellable.hpp"
#include "unit/cli/looking/sampled_hosts.hpp"

#include <doctest/doctest.h>

#include <map>

namespace node_feeds_test {

using namespace dockdist;

namespace {

class Feeds : public testing::SampledHosts {
public:
    using SampledHosts::SampledHosts;

    NodeFeeds make() {
        return {
            context,
            cluster,
            {},
            1000,
            {.sample = [this](std::size_t node, const wire::SampleFacts&, wire::Sample) { ++samples[node]; },
             .trouble = [this](std::size_t node, const Error& why) { troubles[node] = why.message; }}};
    }

    std::map<std::size_t, int> samples{};
    std::map<std::size_t, std::string> troubles{};
};

} // namespace

TEST_CASE("a host that hangs holds up its own nodes alone") {
    Feeds hosts(3);
    hosts.fakes[1]->hold("ping");
    hosts.fakes[2]->fail("ping", {ErrorKind::unreachable, "", "connection refused", ""}, -1);
    auto feeds = hosts.make();
    Cancellable run(hosts.io, feeds.run());
    run_until(hosts.io, [&] { return hosts.samples.contains(0) && hosts.troubles.contains(2); });
    CHECK(hosts.troubles[2] == "connection refused");
    CHECK_FALSE(hosts.samples.contains(1));
    CHECK_FALSE(hosts.troubles.contains(1)); // nothing is known of it yet
    hosts.fakes[1]->release("ping");
    run_until(hosts.io, [&] { return hosts.samples.contains(1); });
    CHECK_FALSE(hosts.troubles.contains(0));
    run.cancel();
    run.wait();
    CHECK(run.ended_by_cancellation());
}

TEST_CASE("the first node that is there is enough; where none is, each one's reason is told") {
    Feeds hosts(3);
    hosts.fakes[2]->fail("ping", {ErrorKind::unreachable, "", "connection refused", ""}, -1);
    hosts.fakes[1]->hold("ping");
    auto feeds = hosts.make();
    {
        Cancellable run(hosts.io, feeds.run());
        CHECK(run_task(hosts.io, feeds.first_found()).empty()); // node-0
        run.cancel();
        run.wait();
    }
    hosts.fakes[1]->release("ping");
    hosts.fakes[1]->containers.clear();
    hosts.fakes[0]->containers.clear();
    auto others = hosts.make();
    Cancellable run(hosts.io, others.run());
    const auto errors = run_task(hosts.io, others.first_found());
    REQUIRE(errors.size() == 3);
    CHECK(to_text(errors[0]) ==
          "node-0 on node-0 (tcp://10.0.0.1:2375): the node is not up\n  run `dockdist up`");
    CHECK(to_text(errors[2]) == "node-2 (tcp://10.0.0.3:2375): connection refused");
    CHECK(hosts.troubles.size() == 3);
    run.cancel();
    run.wait();
}

} // namespace node_feeds_test
