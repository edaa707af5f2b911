#include "cluster_builder.hpp"
#include "plan/join_requests.hpp"

#include <doctest/doctest.h>

namespace join_requests_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

// Of a cluster that is up; `change` is what somebody has written into its file since.
template <class Change>
Plan plan_after(Change change) {
    auto spec = spec_of(2);
    auto observed = after_up(spec);
    for (auto& host : observed.hosts) {
        host.nodes.front().record->interface = "eth0";
    }
    wire::Members members{.cluster = spec.name.str()};
    for (const auto& host : observed.hosts) {
        members.nodes.push_back(*host.nodes.front().record);
    }
    for (auto& host : observed.hosts) {
        host.nodes.front().members_hash = wire::members_hash(members);
    }
    change(spec);
    return make_plan(spec, observed, context()).plan;
}

void within(ClusterSpec& spec, const std::string& subnet) {
    for (auto& host : spec.hosts) {
        host.address.clear();
        host.subnets = {subnet};
    }
}

} // namespace

TEST_CASE("a node joins again when the file wants it at another address, and only then") {
    CHECK(plan_after([](ClusterSpec&) {}).empty());
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[1].interface = "eth0"; }).empty());
    CHECK(plan_after([](ClusterSpec& spec) { within(spec, "10.0.0.0/24"); }).empty());
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[1].address = "gpu1"; }).empty()); // nobody knows here
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[1].address = ""; }).empty());

    const auto moved = plan_after([](ClusterSpec& spec) { within(spec, "10.1.0.0/16"); });
    REQUIRE(moved.joins.size() == 2); // all nodes or none
    CHECK(moved.creates.empty());
    CHECK(moved.joins[0].request.address.empty());
    CHECK(moved.joins[0].request.subnets == std::vector<std::string>{"10.1.0.0/16"});
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[1].address = "10.1.0.2"; }).joins.size() == 2);
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[0].interface = "ib0"; }).joins.size() == 2);
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[0].slots = 4; }).joins.size() == 2);
    const auto required =
        plan_after([](ClusterSpec& spec) { spec.network.rdma = NetworkSpec::Rdma::required; });
    REQUIRE(required.joins.size() == 2);
    CHECK(required.joins[0].request.rdma == "required");
    CHECK(required.creates.empty());
}

TEST_CASE("an interface of the host's own wins over the subnets") {
    const wire::NodeRecord record{.address = "192.168.0.1", .interface = "ib0"};
    CHECK_FALSE(joins_otherwise({.interface = "ib0", .subnets = {"10.1.0.0/16"}}, record));
    CHECK(joins_otherwise({.interface = "ib1", .subnets = {"10.1.0.0/16"}}, record));
    CHECK(joins_otherwise({.subnets = {"10.1.0.0/16"}}, record));
    CHECK_FALSE(joins_otherwise({.address = "192.168.0.1", .interface = "ib0"}, record));
    CHECK_FALSE(joins_otherwise({.address = "FD00:0::1"}, {.address = "fd00::1"}));
}

} // namespace join_requests_test
