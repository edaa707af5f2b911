#include "shared/launch/launcher.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace tensorflow_test {

using namespace dockdist;

namespace {

LaunchRequest request_for(std::size_t nodes, Roles roles, int gpus = 0) {
    LaunchRequest request{.job = JobId("job-1"), .command = {"train.py"}, .roles = std::move(roles)};
    for (std::size_t i = 0; i < nodes; ++i) {
        const auto number = std::to_string(i);
        request.nodes.push_back(
            {.name = NodeName("node-" + number), .address = "10.0.0." + number, .slots = 2, .gpus = gpus});
    }
    const auto ports = ports_of(*find_launcher("tensorflow"), request);
    for (auto& node : request.nodes) {
        for (int i = 0; i < ports; ++i) {
            node.ports.push_back(Port{static_cast<std::uint16_t>(29000 + i)});
        }
    }
    request.ports = request.nodes.front().ports;
    return request;
}

// "chief.0 | worker.1 ps.0": the tasks of each node, by what their TF_CONFIG says.
std::string tasks(const std::vector<NodeLaunch>& launches) {
    std::string text;
    for (const auto& launch : launches) {
        text += text.empty() ? "" : " |";
        for (const auto& env : launch.start.rank_env) {
            const auto task = nlohmann::json::parse(env.at("TF_CONFIG")).at("task");
            text +=
                " " + task.at("type").get<std::string>() + "." + std::to_string(task.at("index").get<int>());
        }
        CHECK(launch.ranks == static_cast<int>(launch.start.rank_env.size()));
    }
    return text.empty() ? text : text.substr(1);
}

std::string placed(std::size_t nodes, Roles roles) {
    const auto launches = find_launcher("tensorflow")->launch(request_for(nodes, std::move(roles)));
    return launches ? tasks(*launches) : to_text(launches.error());
}

std::string refused(Roles roles) {
    const LaunchRequest without_nodes{.command = {"train.py"}, .roles = std::move(roles)};
    return to_text(check_request(*find_launcher("tensorflow"), without_nodes).error());
}

} // namespace

TEST_CASE("every node has a worker, and with parameter servers a chief coordinates them") {
    CHECK(placed(2, {}) == "worker.0 | worker.1");
    CHECK(placed(3, {{"chief", 1}}) == "chief.0 | worker.0 | worker.1");
    CHECK(placed(2, {{"ps", 1}}) == "chief.0 worker.0 | worker.1 ps.0");
    CHECK(placed(2, {{"ps", 3}}) == "chief.0 worker.0 ps.1 | worker.1 ps.0 ps.2");
    CHECK(placed(2, {{"ps", 1}, {"chief", 0}}) == "worker.0 | worker.1 ps.0");
    CHECK(placed(2, {{"ps", 1}, {"worker", 1}}) == "chief.0 worker.0 | ps.0");
    CHECK(placed(2, {{"worker", 3}}) == "worker.0 worker.2 | worker.1");
    CHECK(placed(1, {{"chief", 1}}) == "chief.0");
    CHECK(placed(1, {{"ps", 2}}) == "chief.0 worker.0 ps.0 ps.1");
}

TEST_CASE("all tasks see the same cluster, each has a port of its node's own") {
    const auto launches = *find_launcher("tensorflow")->launch(request_for(2, {{"ps", 1}}));
    for (const auto& launch : launches) {
        for (const auto& env : launch.start.rank_env) {
            CHECK(nlohmann::json::parse(env.at("TF_CONFIG")).at("cluster").dump() ==
                  R"({"chief":["10.0.0.0:29000"],"ps":["10.0.0.1:29001"],)"
                  R"("worker":["10.0.0.0:29001","10.0.0.1:29000"]})");
        }
    }
}

TEST_CASE("the job ends with its chief, and GPUs are for the tasks that train") {
    const auto launches = *find_launcher("tensorflow")->launch(request_for(2, {{"ps", 1}}, 2));
    CHECK(launches[0].start.argv.back() == "leads");
    CHECK(launches[0].start.leaves_servers);
    CHECK_FALSE(launches[0].hosts_remote_ranks);
    CHECK(launches[1].hosts_remote_ranks);
    CHECK(launches[1].first_rank == 2);
    CHECK(launches[0].start.rank_env[0].at("CUDA_VISIBLE_DEVICES") == "-1");
    CHECK_FALSE(launches[0].start.rank_env[1].contains("CUDA_VISIBLE_DEVICES"));
    CHECK(launches[1].start.rank_env[1].at("CUDA_VISIBLE_DEVICES") == "-1");

    const auto alike = *find_launcher("tensorflow")->launch(request_for(2, {}, 2));
    CHECK_FALSE(alike[0].start.leaves_servers);
    CHECK_FALSE(alike[1].hosts_remote_ranks);
    CHECK(alike[0].start.argv.back() != "leads");
}

TEST_CASE("every node reserves as many ports as one could need after all others are lost") {
    CHECK(ports_of(*find_launcher("tensorflow"), request_for(4, {})) == 1);
    CHECK(ports_of(*find_launcher("tensorflow"), request_for(4, {{"ps", 2}})) == 4);
    CHECK(ports_of(*find_launcher("tensorflow"), request_for(4, {{"ps", 2}, {"worker", 8}})) == 11);
    CHECK(ports_of(*find_launcher("torchrun"), request_for(4, {})) == 1);
    CHECK(ports_of(*find_launcher("ray"), request_for(4, {})) == 2);
}

TEST_CASE("roles that make no job are refused") {
    CHECK(refused({{"chief", 2}}) ==
          "--role: there is one chief at most, and 2 were asked for\n  write chief=1");
    CHECK(refused({{"ps", 1}, {"worker", 0}}) ==
          "--role: no worker is left to train\n  write worker=1 or more");
    CHECK(placed(2, {{"worker", 1}}) == "node-1: none of TensorFlow's tasks is left for it\n"
                                        "  take fewer nodes (--nodes), or more workers (--role)");
    CHECK(to_text(find_launcher("tensorflow")->launch(request_for(2, {{"worker", 4}}, 2)).error()) ==
          "node-0: 2 tasks that train would share its GPUs, and each takes all\n"
          "  one worker a node is enough: leave worker=4 out");
}

TEST_CASE("--role is a name and a number, over the file's") {
    CHECK(*read_roles({"ps=2", "worker=4"}, {{"ps", 1}, {"chief", 1}}) ==
          Roles{{"chief", 1}, {"ps", 2}, {"worker", 4}});
    const auto told = [](const std::string& word) { return to_text(read_roles({word}, {}).error()); };
    CHECK(told("wroker=1") == "--role: unknown role `wroker`\n  did you mean `worker`?");
    CHECK(told("x=1") == "--role: unknown role `x`\n  roles: chief, ps, worker");
    for (const auto* word : {"ps", "ps=", "ps=-1", "ps=1x", "ps=1001", "ps=99999999999"}) {
        CAPTURE(word);
        CHECK(told(word) == "--role: `" + std::string(word) +
                                "` does not say how many there are\n  write it like ps=1, up to 1000");
    }
}

} // namespace tensorflow_test
