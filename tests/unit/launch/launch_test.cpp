#include "core/text.hpp"
#include "golden.hpp"
#include "launch/launcher.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

using namespace dockdist;

namespace {

LaunchRequest request_of(std::vector<std::string> command) {
    return {.job = JobId("job-1"),
            .command = std::move(command),
            .nodes = {{NodeName("node-0"), "10.0.0.1", 2, 2}, {NodeName("node-1"), "10.0.0.2", 4, 4}},
            .master_port = Port{29000},
            .env = {{"WANDB_API_KEY", "a b"}}};
}

std::string to_text(const std::vector<NodeLaunch>& launches) {
    std::string text;
    for (const auto& launch : launches) {
        text += fmt::format("{}: ranks {} from {}\n", launch.node.str(), launch.ranks, launch.first_rank);
        for (const auto& [name, value] : launch.env) {
            text += fmt::format("  {}={}\n", name, shell_quote(value));
        }
        text += "  $ " + shell_join(launch.argv) + "\n";
    }
    return text;
}

} // namespace

TEST_CASE("every launcher's processes are as in its golden file") {
    for (const auto& launcher : launchers()) {
        CAPTURE(launcher.name);
        const auto launches = launcher.launch(request_of({"train.py", "--name", "it's $HOME", ""}));
        REQUIRE(launches.has_value());
        check_golden("launch/" + std::string(launcher.name) + ".txt", to_text(*launches));
    }
}

TEST_CASE("torchrun: --gpus sets the ranks of each node, and global ranks go on from node to node") {
    auto request = request_of({"-m", "pkg.train"});
    request.ranks_per_node = 1;
    const auto launches = launch_torchrun(request);
    REQUIRE(launches.has_value());
    CHECK(launches->at(1).first_rank == 1);
    CHECK(launches->at(1).ranks == 1);
    const auto& argv = launches->at(0).argv;
    CHECK(std::vector<std::string>(argv.end() - 4, argv.end()) ==
          std::vector<std::string>{"python", "-u", "-m", "pkg.train"});
}

TEST_CASE("torchrun: more ranks than GPUs is an error that names the node") {
    auto request = request_of({"train.py"});
    request.ranks_per_node = 3;
    const auto launches = launch_torchrun(request);
    REQUIRE(launches.has_error());
    CHECK(to_text(launches.error()) ==
          "node-0: 3 ranks were asked for, and the node has 2 GPUs\n  use --gpus 2 or less");
}

TEST_CASE("plain: --gpus is refused") {
    auto request = request_of({"true"});
    request.ranks_per_node = 2;
    CHECK(launch_plain(request).error().kind == ErrorKind::usage);
}

TEST_CASE("an unknown launcher is answered with the one that was meant") {
    CHECK(find_launcher("torchrun").has_value());
    CHECK(find_launcher("torchrunn").error().hint == "did you mean `torchrun`?");
    CHECK(find_launcher("x").error().hint == "launchers: plain, torchrun");
}
