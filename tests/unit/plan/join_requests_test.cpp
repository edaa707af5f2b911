#include "client/plan/join_requests.hpp"
#include "cluster_builder.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <tuple>

namespace join_requests_test {

using namespace dockdist;
using namespace dockdist::testing;

namespace {

using Change = std::function<void(ClusterSpec&)>;

// Of a cluster that is up; `change` is what somebody has written into its file since, `before` what it said
// beside the engines' addresses when it came up.
PlanResult planned_after(const Change& change, const Change& before = {}, bool with_job = false) {
    auto spec = spec_of(2);
    if (before) {
        before(spec);
    }
    auto observed = after_up(spec);
    for (auto& host : observed.hosts) {
        host.image->env.emplace_back("HOME=/of/image");
        host.image->working_dir = "/of/image";
    }
    const auto requests = join_requests(spec, expand_nodes(spec));
    wire::Members members{.cluster = spec.name.str()};
    for (std::size_t i = 0; i < observed.hosts.size(); ++i) {
        auto& record = *observed.hosts[i].nodes.front().record;
        record.address = "10.0.0." + std::to_string(i + 1);
        record.interface = "eth0";
        record.asked = requests[i].asked;
        members.nodes.push_back(record);
    }
    for (auto& host : observed.hosts) {
        host.nodes.front().members_hash = wire::members_hash(members);
    }
    if (with_job) {
        RunningJob job{.job = JobId("job-1"), .age_ms = 60000};
        job.parts = {{.host = 1, .node = NodeName("node-1"), .id = ContainerId("id-node-1")}};
        observed.jobs = JobsThere{.jobs = {job}};
    }
    change(spec);
    return make_plan(spec, observed, context());
}

Plan plan_after(const Change& change, const Change& before = {}) {
    return planned_after(change, before).plan;
}

void within(ClusterSpec& spec, const std::string& subnet) {
    for (auto& host : spec.hosts) {
        host.address.clear();
        host.subnets = {subnet};
    }
}

void at(ClusterSpec& spec, const std::string& address, const std::string& interface = "") {
    auto& host = spec.hosts[1];
    host.address = address.empty() ? host.docker.host : address;
    host.given_address = address;
    host.interface = interface;
}

} // namespace

TEST_CASE("a node joins again when the file wants it at another address, and only then") {
    CHECK(plan_after([](ClusterSpec&) {}).empty());
    CHECK(plan_after([](ClusterSpec& spec) { at(spec, "10.0.0.2"); }).empty());
    CHECK(plan_after([](ClusterSpec& spec) { at(spec, "10.0.0.2", "eth0"); }).empty());

    const auto moved = plan_after([](ClusterSpec& spec) { within(spec, "10.1.0.0/16"); });
    REQUIRE(moved.joins.size() == 2); // all nodes or none
    CHECK(moved.creates.empty());
    CHECK(moved.joins[0].request.address.empty());
    CHECK(moved.joins[0].request.subnets == std::vector<std::string>{"10.1.0.0/16"});
    CHECK(plan_after([](ClusterSpec& spec) { at(spec, "10.1.0.2"); }).joins.size() == 2);
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[0].interface = "ib0"; }).joins.size() == 2);
    CHECK(plan_after([](ClusterSpec& spec) { spec.hosts[0].slots = 4; }).joins.size() == 2);
    const auto required =
        plan_after([](ClusterSpec& spec) { spec.network.rdma = NetworkSpec::Rdma::required; });
    REQUIRE(required.joins.size() == 2);
    CHECK(required.joins[0].request.rdma == "required");
    CHECK(required.creates.empty());
}

TEST_CASE("what an ssh alias or a context stands for on this machine moves no node") {
    const auto alias = [](const std::string& address) {
        return [address](ClusterSpec& spec) {
            auto& host = spec.hosts[1];
            host.docker = {.scheme = EngineAddress::Scheme::ssh, .host = "gpu1", .url = "ssh://gpu1"};
            host.address = address;
        };
    };
    CHECK(plan_after(alias("203.0.113.7"), alias("10.0.0.2")).empty());
    CHECK(plan_after(
              [&](ClusterSpec& spec) {
                  alias("203.0.113.7")(spec);
                  spec.hosts[1].given_address = "gpu1";
              },
              [&](ClusterSpec& spec) {
                  alias("10.0.0.2")(spec);
                  spec.hosts[1].given_address = "gpu1";
              })
              .empty());
    const auto context = [](ClusterSpec& spec) {
        spec.hosts[1].context = "lab";
        spec.hosts[1].docker.host = spec.hosts[1].address = "203.0.113.7";
    };
    CHECK(plan_after(context).empty());
    // The file's own number is the same for all who read it.
    const auto number = [](ClusterSpec& spec) {
        spec.hosts[1].docker.host = spec.hosts[1].address = "10.1.0.2";
    };
    REQUIRE(plan_after(number).joins.size() == 2);
    CHECK(plan_after(number).joins[1].cause == "its address changed: 10.1.0.2 instead of 10.0.0.2");
}

TEST_CASE("a change of the file is noticed where nobody knows here what it leads to") {
    const auto cause = [](const Change& change, const Change& before) {
        const auto joins = plan_after(change, before).joins;
        return joins.size() == 2 ? joins[1].cause : "none";
    };
    const auto said = [](const std::string& address, const std::string& interface = "") {
        return [=](ClusterSpec& spec) { at(spec, address, interface); };
    };
    CHECK(cause(said("gpu1"), said("gpu1")) == "none");
    CHECK(cause(said("gpu1-ib"), said("gpu1")) ==
          "its place in the file changed: address gpu1-ib instead of address gpu1");
    CHECK(cause(said(""), said("", "eth0")) ==
          "its place in the file changed: none instead of interface eth0");
    CHECK(cause(said("", "ib0"), said("", "eth0")) ==
          "its place in the file changed: interface ib0 instead of interface eth0");
    CHECK(cause(said("FD00:0::1"), said("fd00::1")) == "none"); // another writing of it
    const auto on = [](const std::string& subnet) {
        return [subnet](ClusterSpec& spec) {
            within(spec, subnet);
            spec.hosts[1].interface = "eth0";
        };
    };
    CHECK(cause(on("10.1.0.0/16"), on("10.0.0.0/16")) ==
          "its place in the file changed: interface eth0, network.subnet 10.1.0.0/16 instead of interface "
          "eth0, "
          "network.subnet 10.0.0.0/16");
    const auto many = [](const std::string& last) {
        return [last](ClusterSpec& spec) {
            within(spec, "10.0.0.0/16");
            spec.hosts[1].subnets.resize(60, "10.7.0.0/16");
            spec.hosts[1].subnets.push_back(last);
        };
    };
    CHECK(cause(many("10.8.0.0/16"), many("10.8.0.0/16")) == "none");
    const auto long_cause = cause(many("10.8.0.0/16"), many("10.9.0.0/16"));
    CHECK(long_cause.find("sha256:") != std::string::npos);
    CHECK(long_cause.size() < 2 * wire::longest_asked);
}

TEST_CASE("the plan says why nodes join again, and jobs that run there are told about") {
    const Change ib0 = [](ClusterSpec& spec) { at(spec, "", "ib0"); };
    CHECK(planned_after(ib0).wanted.jobs);
    CHECK_FALSE(planned_after([](ClusterSpec&) {}).wanted.jobs);
    const auto result = planned_after(ib0, {}, true);
    CHECK(to_text(result.plan, spec_of(2)) == "node-0  join node node-0 (rank 0 of 2)\n"
                                              "node-1  join node node-1 (rank 1 of 2)  # its place in the "
                                              "file changed: interface ib0 instead of none\n");
    REQUIRE(result.errors.empty());
    REQUIRE(result.warnings.size() == 1);
    CHECK(result.warnings[0].where == "job-1");
    CHECK(result.warnings[0].message == "running for 1 min on node-1: it keeps using the addresses that "
                                        "it started with, though node-1 gets another one");
    CHECK(planned_after([](ClusterSpec& spec) { spec.hosts[0].slots = 4; }, {}, true).warnings.empty());
}

TEST_CASE("an address that is only the engine's is told as such") {
    auto spec = spec_of(1);
    CHECK(join_requests(spec, expand_nodes(spec))[0].derived);
    spec.hosts[0].given_address = spec.hosts[0].address;
    CHECK_FALSE(join_requests(spec, expand_nodes(spec))[0].derived);
}

TEST_CASE("another bound of what is kept is told in a join, and makes no container") {
    const auto plan = plan_after([](ClusterSpec& spec) { spec.history.keep = {1ULL << 30U}; });
    CHECK(plan.creates.empty());
    REQUIRE(plan.joins.size() == 2);
    CHECK(plan.joins[0].cause == "`env`, `workdir` or `history` changed");
    CHECK(plan.joins[0].settings.history.keep_bytes == std::int64_t{1} << 30);
    CHECK(plan_after([](ClusterSpec&) {}).joins.empty());
}

TEST_CASE("variables and the folder of jobs are told in a join, and make no container") {
    const auto plan = plan_after(
        [](ClusterSpec& spec) {
            spec.container.env = {{"LR", "0.2"}, {"BATCH", "8"}};
            spec.hosts[1].env["LR"] = "0.3";
            spec.container.workdir = "/new";
        },
        [](ClusterSpec& spec) {
            spec.container.env = {{"LR", "0.1"}, {"GONE", "1"}, {"HOME", "/of/file"}};
            spec.container.workdir = "/old";
        });
    CHECK(plan.creates.empty());
    CHECK(plan.removals.empty());
    REQUIRE(plan.joins.size() == 2);
    const auto& [first, second] = std::tie(plan.joins[0], plan.joins[1]);
    CHECK(first.cause == "`env`, `workdir` or `history` changed");
    using Variables = std::map<std::string, std::string>;
    CHECK(first.settings.env == Variables{{"BATCH", "8"}, {"HOME", "/of/image"}, {"LR", "0.2"}});
    CHECK(second.settings.env.at("LR") == "0.3");
    CHECK(first.settings.unset == std::vector<std::string>{"GONE"});
    CHECK(first.settings.workdir == "/new");
    CHECK(first.request.settings != second.request.settings);
}

TEST_CASE("a folder that the file names no more is the image's again") {
    const auto plan = plan_after([](ClusterSpec& spec) { spec.container.workdir.clear(); },
                                 [](ClusterSpec& spec) { spec.container.workdir = "/old"; });
    CHECK(plan.creates.empty());
    REQUIRE(plan.joins.size() == 2);
    CHECK(plan.joins[0].settings.workdir == "/of/image");
}

TEST_CASE("what engines and their hooks read of the variables makes a new container") {
    for (const auto* name : {"NVIDIA_DRIVER_CAPABILITIES", "PATH", "DOCKDIST_AMD_GPUS", "NCCL_IB_HCA"}) {
        CAPTURE(name);
        const auto plan = plan_after([&](ClusterSpec& spec) { spec.hosts[1].env[name] = "all"; });
        CHECK(plan.creates.size() == 1);
    }
}

} // namespace join_requests_test
