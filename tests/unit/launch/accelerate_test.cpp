#include "shared/core/text.hpp"
#include "shared/launch/accelerate_settings.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace accelerate_test {

using namespace dockdist;

namespace {

using Words = std::vector<std::string>;

LaunchRequest request_with(Words options, std::string via = "") {
    const std::map<std::string, std::string> versions{
        {"python", "3.13.5"}, {"torch", "2.6.0"}, {"accelerate", "1.4.0"}};
    return {.job = JobId("job-1"),
            .command = {"train.py"},
            .nodes = {{NodeName("node-0"), "10.0.0.1", "eth0", 2, 2, versions},
                      {NodeName("node-1"), "10.0.0.2", "eth0", 2, 2, versions}},
            .via = std::move(via),
            .options = std::move(options),
            .ports = {Port{29000}}};
}

std::vector<NodeLaunch> launches_of(const LaunchRequest& request) {
    auto launches = find_launcher("accelerate")->launch(request);
    REQUIRE_MESSAGE(launches.has_value(), to_text(launches.error()));
    return *launches;
}

std::string refusal(const LaunchRequest& request) {
    return to_text(check_request(*find_launcher("accelerate"), request).error());
}

const std::string config = "/run/dockdist/jobs/job-1/accelerate.yaml";

bool has(const Words& argv, const std::string& word) {
    return std::ranges::find(argv, word) != argv.end();
}

} // namespace

TEST_CASE(
    "every node starts its own ranks, whatever way to DeepSpeed's ranks the user's words name but pdsh") {
    for (const auto& options : {Words{"--use_deepspeed"}, Words{"--deepspeed_multinode_launcher=standard"},
                                Words{"--use-deepspeed", "--deepspeed-multinode-launcher", "nossh"}}) {
        CAPTURE(shell_join(options));
        for (const auto& launch : launches_of(request_with(options))) {
            CHECK(launch.start.files.at(config).find("deepspeed_multinode_launcher: standard\n") !=
                  std::string::npos);
            CHECK_FALSE(launch.hosts_remote_ranks);
            CHECK_FALSE(has(launch.start.argv, "nossh"));
            CHECK(has(launch.start.argv, options.front()) == options.front().starts_with("--use"));
        }
    }
}

TEST_CASE("the user's own word for pdsh means --via pdsh, with the job's hostfile in place of his") {
    const auto launches = launches_of(request_with(
        {"--deepspeed_multinode_launcher", "pdsh", "--deepspeed_hostfile=./hosts", "--zero_stage=3"}));
    const auto& start = launches[0].start;
    CHECK(start.files.at("/run/dockdist/jobs/job-1/hostfile") == "node-0 slots=2\nnode-1 slots=2\n");
    CHECK(start.files.at(config).find("deepspeed_hostfile: /run/dockdist/jobs/job-1/hostfile\n") !=
          std::string::npos);
    CHECK(has(start.argv, "--zero_stage=3"));
    CHECK(shell_join(start.argv).find("hosts") == std::string::npos);
    CHECK(launches[1].hosts_remote_ranks);
    CHECK(launches[1].start.argv.empty());
    const auto asked = questions(*find_launcher("accelerate"), request_with({}, "pdsh"));
    CHECK(has(asked.at(0).argv, "deepspeed"));
}

TEST_CASE("a file of the user's is merged in the node, under what names the cluster") {
    const auto launches = launches_of(request_with({"--config_file", "ds.yaml", "--zero_stage=3"}));
    const auto& argv = launches[1].start.argv;
    const std::string scratch = "/run/dockdist/jobs/job-1/";
    CHECK(Words(argv.begin(), argv.begin() + 7) == Words{"python", scratch + "start-accelerate.py", "start",
                                                         "ds.yaml", config, scratch + "accelerate.json",
                                                         "--config_file=" + scratch + "accelerate.json"});
    CHECK(has(argv, "--machine_rank=1"));
    CHECK(has(argv, "--zero_stage=3"));
    CHECK(launches[1].start.files.contains(scratch + "start-accelerate.py"));
}

TEST_CASE("--cpu is said to the ranks: accelerate would start one process on each node") {
    const auto launches = launches_of(request_with({"--cpu"}));
    CHECK_FALSE(has(launches[0].start.argv, "--cpu"));
    CHECK(launches[0].start.env.at("ACCELERATE_USE_CPU") == "true");
    CHECK_FALSE(launches_of(request_with({}))[0].start.env.contains("ACCELERATE_USE_CPU"));
}

TEST_CASE("words that name the cluster, or contradict each other, are refused before any node is asked") {
    CHECK(refusal(request_with({"--machine-rank=0"})) ==
          "--launcher-arg: accelerate's `--machine_rank` is set by dockdist, for each node\n"
          "  leave it out: --nodes, --exclude and --gpus say which nodes and how many ranks");
    CHECK(
        refusal(request_with({"--num_processes", "8"})).starts_with("--launcher-arg: accelerate's `--num_"));
    CHECK(
        refusal(request_with({"--deepspeed_multinode_launcher=openmpi"})) ==
        "--launcher-arg: accelerate's way `openmpi` to start DeepSpeed's ranks is not supported by dockdist\n"
        "  leave it out, and every node starts its own; or --via pdsh");
    CHECK(refusal(request_with({"--deepspeed_multinode_launcher=standard"}, "pdsh")) ==
          "--via: --via pdsh contradicts `--deepspeed_multinode_launcher standard`\n"
          "  leave one of the two out");
    CHECK(refusal(request_with({"--use_fsdp"}, "pdsh")) ==
          "--via: pdsh is a way of DeepSpeed's, and `--use_fsdp` asks for something else\n"
          "  leave --via pdsh out: every node starts its own ranks then");
    CHECK(check_request(*find_launcher("accelerate"), request_with({"--use_deepspeed"}, "pdsh")).has_value());
}

TEST_CASE("what the user's file says that does not go with the job is told of its node") {
    auto request = request_with({"--config_file=ds.yaml"}, "pdsh");
    const auto take = [&](const std::string& output) {
        return take_answers(
            *find_launcher("accelerate"), request,
            {{.answers = {{"python", 0, "python 3.13.5\naccelerate 1.4.0\ntorch 2.6\ndeepspeed 0.16\n"}}},
             {.answers = {{"python", 0, "python 3.13.5\naccelerate 1.4.0\ntorch 2.6\ndeepspeed 0.16\n"},
                          {"settings", 0, output}}}});
    };
    const auto told = [&] {
        const auto launched = find_launcher("accelerate")->launch(request);
        return launched ? std::string() : to_text(launched.error());
    };
    request.ports = {Port{29000}};
    CHECK(take("error No such file or directory\n").empty());
    request.ports = {Port{29000}};
    CHECK(told() ==
          "node-1: accelerate's configuration ds.yaml: No such file or directory\n"
          "  it is looked for in the node, from the job's folder: `sync:` in the file brings yours there");
    CHECK(take("type FSDP\n").empty());
    request.ports = {Port{29000}};
    CHECK(told() == "node-1: ds.yaml says distributed_type: FSDP, and pdsh is a way of DeepSpeed's\n"
                    "  leave pdsh out: every node starts its own ranks then");
    CHECK(take("type DEEPSPEED\n").empty());
    request.ports = {Port{29000}};
    CHECK(told() == "");
}

TEST_CASE("a hostfile of the user's that names others, a filter and a file that nobody named are told") {
    auto request = request_with({});
    const auto told = [&](std::map<std::string, std::string> settings) {
        request.nodes[0].settings = std::move(settings);
        std::string text;
        for (const auto& warning : find_launcher("accelerate")->warnings(request)) {
            text += to_text(warning) + "\n";
        }
        return text;
    };
    CHECK(told({}) == "");
    CHECK(told({{"hostfile", "hosts"}, {"hosts", "node-0 10.0.0.2"}}) == "");
    CHECK(told({{"hostfile", "hosts"}, {"hosts", "worker-1 node-0 worker-2"}}) ==
          "node-0: hosts is not used: it names worker-1, worker-2, no nodes of this job\n"
          "  the job runs on node-0, node-1: --nodes, --exclude and --gpus say where, and no hostfile is "
          "needed\n");
    CHECK(told({{"hostfile", "h"}, {"hosts", "a b c d e f g\x1b[2J"}}).find("a, b, c, d, e and 2 more") !=
          std::string::npos);
    CHECK(
        told({{"filter", "worker-1@worker-2"}})
            .starts_with("node-0: the filter `worker-1@worker-2` of accelerate's configuration is not used"));
    CHECK(told({{"processes", "16"}, {"gpu_ids", "0,1"}}) ==
          "node-0: `num_processes: 16` of accelerate's configuration is not used: the job has 4 ranks\n"
          "  --nodes and --gpus say how many\n"
          "node-0: `gpu_ids: 0,1` of accelerate's configuration is not used: the job's GPUs are its own\n"
          "  --gpus says how many of each node\n");
    CHECK(told({{"processes", "4"}, {"gpu_ids", "all"}}) == "");
    CHECK(told({{"unused_file", "/root/default_config.yaml"}, {"unused_type", "FSDP"}}) ==
          "node-0: /root/default_config.yaml (FSDP) is not used\n"
          "  --launcher-arg=--config_file=/root/default_config.yaml makes this job use it\n");
    CHECK(told({{"unused_file", "/root/default_config.yaml"}, {"unused_type", "MULTI_GPU"}}) == "");
}

} // namespace accelerate_test
