#include "shared/launch/relaunch.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace relaunch_test {

using namespace dockdist;

namespace {

LaunchNode node(int i) {
    const auto number = std::to_string(i);
    return {
        .name = NodeName("node-" + number),
        .address = "10.0.0." + number,
        .interface = "eth" + number,
        .slots = 2,
        .gpus = 2,
        .versions = {{"python", "3.13.5"},
                     {"torch", "2.6.0"},
                     {"deepspeed", "0.16.9"},
                     {"accelerate", "1.15.0"},
                     {"mpirun", "Open MPI 5.0.7"},
                     {"mpirun.mpich", "MPICH 4.3.0"}},
        .ports = {Port{static_cast<std::uint16_t>(29000 + i)}, Port{static_cast<std::uint16_t>(29100 + i)}}};
}

LaunchRequest request_of(int nodes) {
    LaunchRequest request{.job = JobId("job-1"), .command = {"train.py", "it's $HOME", "\xff"}};
    for (int i = 0; i < nodes; ++i) {
        request.nodes.push_back(node(i));
    }
    request.ports = request.nodes.front().ports;
    request.options = {"--verbose"};
    request.roles = {{"worker", 2}};
    return request;
}

wire::JobPolicy course_of(const Launcher& launcher, const LaunchRequest& request, std::vector<int> members) {
    wire::JobPolicy policy{
        .members = std::move(members), .min_nodes = 1, .relaunch = relaunch_text(launcher, request)};
    for (std::size_t i = 0; i < request.nodes.size(); ++i) {
        policy.parts.push_back({.node = request.nodes[i].name.str()});
    }
    return policy;
}

} // namespace

TEST_CASE("a launch over other nodes is what the launcher itself makes over these nodes") {
    for (const auto& launcher : launchers()) {
        CAPTURE(launcher.name);
        auto request = request_of(3);
        request.secret = "a secret";
        const auto starts = relaunch_with(course_of(launcher, request, {2, 1}), "another secret");
        REQUIRE(starts.has_value());
        REQUIRE(starts->size() == 3);
        request.nodes = {node(2), node(1)};
        request.ports = node(2).ports;
        request.secret = "another secret";
        const auto launches = *launcher.launch(request);
        for (const auto& [part, launch] : {std::pair(2, launches[0]), std::pair(1, launches[1])}) {
            const auto& start = starts->at(static_cast<std::size_t>(part));
            CHECK(start.argv == launch.start.argv);
            CHECK(start.env == launch.start.env);
            CHECK(start.files == launch.start.files);
            CHECK(start.rank_command == launch.start.rank_command);
            CHECK(start.rank_env == launch.start.rank_env);
            CHECK(start.rank_secrets == launch.start.rank_secrets);
            CHECK(start.leaves_servers == launch.start.leaves_servers);
            CHECK(start.part == part);
            CHECK(start.stays);
            CHECK(start.policy.parts[static_cast<std::size_t>(part)].ranks == launch.ranks);
            CHECK(start.policy.parts[static_cast<std::size_t>(part)].hosts_remote_ranks ==
                  launch.hosts_remote_ranks);
        }
        CHECK(starts->at(0).argv.empty());
        CHECK(starts->at(0).policy.parts[0].hosts_remote_ranks);
        CHECK(starts->at(0).policy.parts[0].ranks == 0);
    }
}

TEST_CASE("a launch's secret does not stand in the policy, and the next launch has another") {
    const auto ray = *find_launcher("ray");
    auto request = request_of(2);
    request.secret = "s3cret";
    const auto policy = course_of(ray, request, {0, 1});
    CHECK(policy.relaunch.find("s3cret") == std::string::npos);
    const auto token = [&](std::size_t part) {
        const auto starts = *relaunch(policy);
        return starts[part].files.at(starts[part].env.at("RAY_AUTH_TOKEN_PATH"));
    };
    CHECK(token(0).size() == secret_digits);
    CHECK(token(0) != token(0));
    const auto both = *relaunch(policy);
    CHECK(both[0].files.at(both[0].env.at("RAY_AUTH_TOKEN_PATH")) ==
          both[1].files.at(both[1].env.at("RAY_AUTH_TOKEN_PATH")));
}

TEST_CASE("the first node that is left is the rendezvous, at a port of its own") {
    const auto starts = *relaunch(course_of(*find_launcher("torchrun"), request_of(3), {1, 2}));
    CHECK(starts[1].env.at("MASTER_ADDR") == "10.0.0.1");
    CHECK(starts[1].env.at("MASTER_PORT") == "29001");
    CHECK(starts[1].env.at("NODE_RANK") == "0");
    CHECK(starts[2].env.at("NODE_RANK") == "1");
    CHECK(starts[2].env.at("NNODES") == "2");
    CHECK(std::ranges::find(starts[2].argv, "--node_rank=1") != starts[2].argv.end());
}

TEST_CASE("every launcher's own settings come through") {
    auto request = request_of(2);
    request.per_rank = true;
    request.ranks_per_node = 1;
    const auto plain = *relaunch(course_of(*find_launcher("plain"), request, {1}));
    CHECK(plain[1].argv == std::vector<std::string>{plain[1].argv.front(), "ranks", "1", "0", "1"});
    request = request_of(2);
    request.via = "mpich";
    const auto mpich = *relaunch(course_of(*find_launcher("mpirun"), request, {1, 0}));
    CHECK(mpich[1].argv.front().ends_with("mpirun.mpich"));
    CHECK(mpich[1].policy.parts[0].hosts_remote_ranks);
    CHECK_FALSE(mpich[1].policy.parts[1].hosts_remote_ranks);
}

TEST_CASE("what cannot be launched is an error, whatever stands in it") {
    const auto torchrun = *find_launcher("torchrun");
    auto policy = course_of(torchrun, request_of(2), {0, 1});
    for (const std::string text :
         {"", "{", "[]", "{}", R"({"launcher":"nothing"})", R"({"launcher":"torchrun","nodes":[1]})",
          R"({"launcher":"torchrun","nodes":[{"ports":[0]}]})", R"({"launcher":"torchrun","nodes":[]})"}) {
        CAPTURE(text);
        policy.relaunch = text;
        CHECK(relaunch(policy).has_error());
    }
    policy = course_of(torchrun, request_of(2), {});
    CHECK(relaunch(policy).has_error());
    auto request = request_of(2);
    request.nodes[1].ports.clear();
    CHECK(relaunch(course_of(torchrun, request, {1})).error().message ==
          "no port is reserved there for the launcher");
}

} // namespace relaunch_test
