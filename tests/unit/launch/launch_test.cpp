#include "golden.hpp"
#include "shared/core/text.hpp"
#include "shared/launch/launcher.hpp"

#include <doctest/doctest.h>

namespace launch_test {

using namespace dockdist;

namespace {

Launcher launcher_of(std::string_view name) {
    return *find_launcher(name);
}

LaunchRequest request_of(std::vector<std::string> command) {
    const std::map<std::string, std::string> versions{
        {"python", "3.13.5"},     {"torch", "2.6.0"},           {"deepspeed", "0.16.9"},
        {"accelerate", "1.15.0"}, {"mpirun", "Open MPI 5.0.7"}, {"mpirun.mpich", "MPICH 4.3.0"}};
    return {.job = JobId("job-1"),
            .command = std::move(command),
            .nodes = {{NodeName("node-0"), "10.0.0.1", "eth0", 2, 2, versions},
                      {NodeName("node-1"), "10.0.0.2", "eth0", 4, 4, versions}},
            .ports = {Port{29000}, Port{29001}},
            .secret = "5ec4e7"};
}

wire::LaunchFacts facts_of(std::initializer_list<wire::Answer> answers) {
    return {.ports = {29400, 29401}, .answers = answers};
}

} // namespace

TEST_CASE("every launcher's environment, files and commands are as in its golden files") {
    for (const auto& launcher : launchers()) {
        std::vector<std::string> vias{""};
        vias.insert(vias.end(), launcher.vias.begin(), launcher.vias.end());
        for (const auto& via : vias) {
            CAPTURE(launcher.name);
            CAPTURE(via);
            auto request = request_of({"train.py", "--name", "it's $HOME", "100%", ""});
            request.nodes[0].ports = request.nodes[1].ports = request.ports;
            request.via = via;
            if (launcher.name == "accelerate") {
                request.ranks_per_node = 2;
            }
            REQUIRE(check_request(launcher, request).has_value());
            REQUIRE(check_slots(launcher, request).has_value());
            const auto launches = launcher.launch(request);
            REQUIRE(launches.has_value());
            const auto name = std::string(launcher.name) + (via.empty() ? "" : "-" + via);
            check_golden("launch/" + name + ".txt", to_text(*launches));
        }
    }
}

TEST_CASE("plain --per-rank is the command on every slot") {
    auto request = request_of({"sh", "-c", "echo $RANK"});
    request.per_rank = true;
    check_golden("launch/plain-per-rank.txt", to_text(*launcher_of("plain").launch(request)));
}

TEST_CASE("global ranks go on from node to node, and --gpus sets how many there are") {
    auto request = request_of({"-m", "pkg.train"});
    request.ranks_per_node = 1;
    const auto launches = launcher_of("torchrun").launch(request);
    REQUIRE(launches.has_value());
    CHECK(launches->at(1).first_rank == 1);
    CHECK(launches->at(1).ranks == 1);
    CHECK(launches->at(0).start.rank_command == std::vector<std::string>{"python", "-u", "-m", "pkg.train"});
}

TEST_CASE("--local_rank goes behind the script, wherever that stands") {
    const auto at = [](std::vector<std::string> command) {
        const auto launches = launcher_of("deepspeed").launch(request_of(std::move(command)));
        const auto& start = launches->front().start;
        return start.rank_command.at(static_cast<std::size_t>(start.local_rank_at) - 1);
    };
    CHECK(at({"train.py", "-x"}) == "train.py");
    CHECK(at({"-m", "pkg.train", "-x"}) == "pkg.train");
    CHECK(at({"python3.11", "-W", "ignore", "-u", "dir/train.py", "a"}) == "dir/train.py");
    CHECK(at({"/opt/env/bin/python", "-m", "pkg", "a"}) == "pkg");
    CHECK(at({"python"}) == "python");
    CHECK(launcher_of("deepspeed").launch(request_of({"sh", "-c", "x"}))->front().start.local_rank_at == -1);
}

TEST_CASE("torch.distributed.launch spells the rank's option as the image's torch does") {
    auto request = request_of({"train.py"});
    const auto option = [&](const std::string& version) {
        for (auto& node : request.nodes) {
            node.versions["torch"] = version;
            node.versions["python"] = "3.10.1";
        }
        return launcher_of("torch.distributed.launch").launch(request)->front().start.local_rank_option;
    };
    CHECK(option("1.13.1+cu117") == "--local_rank");
    CHECK(option("2.0.0") == "--local-rank");
    CHECK(option("2.11.0a0+git") == "--local-rank");
    CHECK(launcher_of("deepspeed").launch(request)->front().start.local_rank_option == "--local_rank");
}

TEST_CASE("what is wrong with the command line is said before any node is known") {
    const auto check = [](std::string_view launcher, const LaunchRequest& request) {
        return to_text(check_request(launcher_of(launcher), request).error());
    };
    const auto request_of = [](std::vector<std::string> command) {
        return LaunchRequest{.command = std::move(command)};
    };
    auto request = request_of({"train.py"});
    request.via = "pdsch";
    CHECK(check("deepspeed", request) == "--via: the launcher deepspeed does not support `pdsch`\n"
                                         "  it supports: pdsh, openmpi");
    CHECK(check("torchrun", request) ==
          "--via: the launcher torchrun does not support `pdsch`\n  leave --via out");
    request = request_of({"train.py"});
    request.per_rank = true;
    CHECK(check_request(launcher_of("plain"), request).has_value());
    CHECK(check_request(launcher_of("mpirun"), request).error().where == "--per-rank");
    request = request_of({"/usr/bin/torchrun", "--nnodes", "2", "train.py"});
    CHECK(check_request(launcher_of("torchrun"), request).has_error());
    CHECK(check_request(launcher_of("plain"), request).has_value());
}

TEST_CASE("more than the nodes have is refused") {
    const auto check = [](std::string_view launcher, const LaunchRequest& request) {
        return to_text(check_slots(launcher_of(launcher), request).error());
    };
    auto request = request_of({"train.py"});
    request.ranks_per_node = 3;
    CHECK(check("torchrun", request) ==
          "node-0: 3 ranks were asked for, and the node has 2 GPUs\n  use --gpus 2 or less");
    CHECK(check("plain", request) ==
          "node-0: 3 GPUs were asked for, and the node has 2 GPUs\n  use --gpus 2 or less");
    request.ranks_per_node = 1; // of the two, to itself
    CHECK(check_slots(launcher_of("plain"), request).has_value());
    request = request_of({"train.py"});
    request.nodes[1].slots = 0;
    CHECK(check("mpirun", request) ==
          "node-1: no slot to start a rank in\n  set `slots` for the host, or --gpus");
}

TEST_CASE("only TensorFlow's processes have roles") {
    auto request = request_of({"train.py"});
    request.roles = {{"ps", 1}};
    CHECK(to_text(check_request(launcher_of("torchrun"), request).error()) ==
          "--role: the launcher torchrun has no roles\n  leave --role out, or take --launcher tensorflow");
    CHECK(check_request(launcher_of("tensorflow"), request).has_value());
}

TEST_CASE("the nodes are asked for what the launcher needs, and for nothing else") {
    auto request = request_of({"train.py"});
    CHECK(questions(launcher_of("plain"), request).empty());
    CHECK(questions(launcher_of("slurm"), request).empty());
    const auto asked = questions(launcher_of("accelerate"), request);
    REQUIRE(asked.size() == 2); // one Python for all modules, one for its settings
    CHECK(std::vector<std::string>(asked[0].argv.end() - 2, asked[0].argv.end()) ==
          std::vector<std::string>{"accelerate", "torch"});
    request.via = "openmpi";
    CHECK(questions(launcher_of("deepspeed"), request).at(0).argv ==
          std::vector<std::string>{"mpirun", "--version"});
}

TEST_CASE("a tool that nodes lack is an error for each of them, with how to add it") {
    auto request = request_of({"train.py"});
    const auto errors = take_answers(launcher_of("deepspeed"), request,
                                     {facts_of({{"python", 0, "python 3.12.1\ntorch 2.6.0\ndeepspeed \n"}}),
                                      facts_of({{"python", 127, "python: not found in PATH"}})});
    REQUIRE(errors.size() == 2);
    CHECK(to_text(errors[0]) == "node-0: the image has no deepspeed, which the launcher deepspeed needs\n"
                                "  take an image with DeepSpeed, or add it: `pip install deepspeed`");
    CHECK(errors[1].message == "the image has no Python, which the launcher deepspeed needs");
}

TEST_CASE("versions that differ are an error that names both") {
    auto request = request_of({"train.py"});
    const auto errors = take_answers(launcher_of("torchrun"), request,
                                     {facts_of({{"python", 0, "python 3.12.1\ntorch 2.6.0\n"}}),
                                      facts_of({{"python", 0, "python 3.12.1\ntorch 2.5.1+cu124\n"}})});
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].where == "node-1");
    CHECK(errors[0].message == "it has torch 2.5.1+cu124, and node-0 has 2.6.0");
}

TEST_CASE("mpirun: its dialect follows from what the nodes' mpirun says") {
    const auto argv_for = [](const std::string& version, const std::string& via) {
        auto request = request_of({"train.py"});
        request.via = via;
        const auto errors =
            take_answers(launcher_of("mpirun"), request,
                         {facts_of({{"mpirun", 0, version}}), facts_of({{"mpirun", 0, version}})});
        CHECK(errors.empty());
        const auto launches = launcher_of("mpirun").launch(request);
        return launches ? shell_join(launches->front().start.argv) : to_text(launches.error());
    };
    CHECK(argv_for("mpirun (Open MPI) 4.1.4\n\nReport bugs to …\n", "") ==
          "mpirun --allow-run-as-root --hostfile /run/dockdist/jobs/job-1/hostfile -np 6 --map-by slot "
          "--bind-to none /opt/dockdist/bin/dockdist-init rank");
    CHECK(argv_for("HYDRA build details:\n    Version:                                 4.0.2\n", "") ==
          "mpirun -launcher ssh -f /run/dockdist/jobs/job-1/hostfile.hydra -n 6 "
          "/opt/dockdist/bin/dockdist-init rank");
    CHECK(argv_for("mpirun (Open MPI) 4.1.4\n", "mpich")
              .starts_with("node-0: the image has no mpirun of MPICH"));
}

TEST_CASE(
    "over IPv6: an address stands without brackets, MPICH is refused, Open MPI gets an interface's name") {
    auto request = request_of({"train.py"});
    request.nodes[0].address = "fd00::1";
    request.nodes[1].address = "fd00::2";
    const auto launched = [&](const char* launcher, const char* via) {
        request.via = via;
        const auto launches = launcher_of(launcher).launch(request);
        return launches ? shell_join(launches->front().start.argv) : to_text(launches.error());
    };
    CHECK(launched("torchrun", "").find("--master_addr=fd00::1 ") != std::string::npos);
    CHECK(launched("mpirun", "mpich")
              .starts_with("node-0: MPICH's mpirun does not support IPv6, and the node is at fd00::1"));
    CHECK(launched("horovodrun", "")
              .starts_with("node-0: horovodrun does not support IPv6, and the node is at fd00::1"));
    CHECK(launched("mpirun", "openmpi").starts_with("mpirun --allow-run-as-root"));
    CHECK(launched("deepspeed", "openmpi").find("btl_tcp_if_include eth0 ") != std::string::npos);
    request.nodes[1].interface = "eth1";
    CHECK(launched("deepspeed", "openmpi").starts_with("over IPv6 Open MPI finds a node's network by"));
    CHECK(launched("mpirun", "openmpi").starts_with("mpirun --allow-run-as-root"));
    request.nodes.resize(1);
    CHECK(launched("mpirun", "mpich").find("-launcher ssh") != std::string::npos); // it connects to nobody
    CHECK(launched("horovodrun", "").starts_with("horovodrun -np "));
}

TEST_CASE("torchrun: what torch 1.13 breaks on Python 3.11 is said, and other versions pass") {
    auto request = request_of({"train.py"});
    request.nodes[0].versions = {{"torch", "1.13.1"}, {"python", "3.11.2"}};
    const auto error = launcher_of("torchrun").launch(request).error();
    CHECK(error.where == "node-0");
    CHECK(error.message == "torchrun of torch 1.13.1 does not work with Python 3.11.2");
    for (const auto* python : {"3.10.12", "3", "3+11", ""}) { // the second number is behind a dot, or none
        request.nodes[0].versions["python"] = python;
        CHECK(launcher_of("torchrun").launch(request).has_value());
    }
}

TEST_CASE("accelerate writes what it sees to a file with DeepSpeed: no secrets, and into the job's scratch") {
    for (const auto* via : {"", "pdsh"}) {
        auto request = request_of({"train.py"});
        request.via = via;
        for (auto& node : request.nodes) {
            node.slots = 2;
        }
        const auto launches = launcher_of("accelerate").launch(request);
        REQUIRE(launches.has_value());
        for (const auto& launch : *launches) {
            CHECK(launch.start.rank_secrets);
            CHECK(!launch.start.rank_command.empty()); // they are given there
            CHECK(launch.start.env.at("DS_ENV_FILE") == "/run/dockdist/jobs/job-1/deepspeed_env");
        }
    }
}

TEST_CASE("accelerate: nodes with different slots are refused, as it would start another number") {
    const auto error = launcher_of("accelerate").launch(request_of({"train.py"})).error();
    CHECK(to_text(error) == "node-1: accelerate starts the same number of ranks on each node; node-0 has 2 "
                            "slots and this one 4\n  use --gpus 2, or --launcher torchrun");
}

TEST_CASE("where nodes call their interface differently, Open MPI is told addresses") {
    auto request = request_of({"train.py"});
    request.via = "openmpi";
    request.nodes[1].interface = "ens5";
    const auto argv = launcher_of("deepspeed").launch(request)->front().start.argv;
    CHECK(shell_join(argv).find("btl_tcp_if_include 10.0.0.1/32,10.0.0.2/32") != std::string::npos);
}

TEST_CASE("the user's own words for the launcher come after ours") {
    auto request = request_of({"train.py"});
    request.options = {"--tee=3"};
    const auto argv = launcher_of("torchrun").launch(request)->front().start.argv;
    CHECK(std::vector<std::string>(argv.end() - 4, argv.end()) ==
          std::vector<std::string>{"--tee=3", "--no_python", "/opt/dockdist/bin/dockdist-init", "rank"});
}

TEST_CASE("an unknown launcher is answered with the one that was meant") {
    CHECK(find_launcher("torchrunn").error().hint == "did you mean `torchrun`?");
    CHECK(find_launcher("x").error().hint ==
          "launchers: plain, torchrun, torch.distributed.launch, deepspeed, accelerate, mpirun, horovodrun, "
          "ray, slurm, jax, tensorflow");
}

TEST_CASE("ray's processes know each other by a token, which is in a file of the job alone") {
    const auto launches = *launcher_of("ray").launch(request_of({"train.py"}));
    for (const auto& launch : launches) {
        const auto& start = launch.start;
        CHECK(start.env.at("RAY_AUTH_MODE") == "token");
        const auto& path = start.env.at("RAY_AUTH_TOKEN_PATH");
        CHECK(path.starts_with(wire::job_scratch("job-1") + "/"));
        CHECK(start.files.at(path) == "5ec4e7");
        for (const auto& words : {start.argv, start.rank_command}) {
            CHECK(shell_join(words).find("5ec4e7") == std::string::npos);
        }
        for (const auto& [name, value] : start.env) {
            CHECK(value.find("5ec4e7") == std::string::npos);
        }
    }
}

TEST_CASE("of a Ray that takes no token people are told") {
    const auto told = [](const std::string& version) {
        auto request = request_of({"train.py"});
        request.nodes.front().versions["ray"] = version;
        const auto warnings = launcher_of("ray").warnings(request);
        return warnings.empty() ? "" : to_text(warnings.front());
    };
    CHECK(told("2.51.2") ==
          "Ray 2.51.2 does not support tokens: whoever reaches its ports on the network can run code in this "
          "job\n  take an image with Ray 2.52 or newer");
    CHECK(told("2.9") != "");
    CHECK(told("1.13.0\x1b[2J").find('\x1b') == std::string::npos);
    for (const auto* version : {"2.52.0", "2.60.0", "3.0.0.dev0", "unknown", "", "2", "x.y"}) {
        CAPTURE(version);
        CHECK(told(version) == "");
    }
}

} // namespace launch_test
