#include "shared/core/text.hpp"
#include "shared/launch/launch_line.hpp"

#include <doctest/doctest.h>

namespace launch_line_test {

using namespace dockdist;

namespace {

using Words = std::vector<std::string>;

std::string meant(const Words& command) {
    const auto line = launch_line(command);
    return line ? std::string(line->launcher) + ": " + shell_join(line->command) +
                      (line->per_node ? " at " + std::to_string(*line->per_node) : "")
                : "-";
}

} // namespace

TEST_CASE("a launch line is known by its program, and what it starts by what is no option of it") {
    CHECK(meant({"torchrun", "--nproc_per_node", "2", "train.py", "--lr", "1"}) ==
          "torchrun: train.py --lr 1 at 2");
    CHECK(meant({"/opt/bin/torchrun", "--standalone", "--nproc-per-node=4", "-m", "pkg.train"}) ==
          "torchrun: -m pkg.train at 4");
    CHECK(meant({"torchrun", "--nproc_per_node=gpu", "--no_python", "./train"}) == "torchrun: ./train");
    CHECK(meant({"torchrun", "--module", "pkg"}) == "torchrun: -m pkg");
    CHECK(meant({"python3", "-u", "-m", "torch.distributed.launch", "--nproc_per_node=8", "t.py"}) ==
          "torch.distributed.launch: t.py at 8");
    CHECK(meant({"python", "-m", "accelerate.commands.accelerate_cli", "launch", "t.py"}) ==
          "accelerate: t.py");
    CHECK(meant({"deepspeed", "--hostfile", "./hosts", "--num_gpus", "2", "train.py", "--deepspeed"}) ==
          "deepspeed: train.py --deepspeed at 2");
    CHECK(meant({"accelerate", "launch", "--config_file", "/c.yaml", "run.py"}) == "accelerate: run.py");
    CHECK(meant({"mpirun", "-np", "8", "-x", "PATH", "--hostfile", "/h", "python", "t.py"}) ==
          "mpirun: python t.py");
    CHECK(meant({"mpirun", "-np", "8", "--some-option", "./train"}) == "mpirun: ");
    CHECK(meant({"srun", "--ntasks-per-node=2", "python", "t.py"}) == "slurm: python t.py at 2");
    CHECK(meant({"ray", "start", "--head"}) == "ray: ");
}

TEST_CASE("a launch line is known behind programs that start another, and in a shell's script") {
    CHECK(meant({"env", "A=1", "torchrun", "t.py"}) == "torchrun: t.py");
    CHECK(meant({"uv", "run", "torchrun", "t.py"}) == "torchrun: t.py");
    CHECK(meant({"timeout", "3600", "python", "-m", "torch.distributed.run", "t.py"}) == "torchrun: t.py");
    CHECK(meant({"bash", "-lc", "cd /w && A=1 exec torchrun t.py"}) == "torchrun: ");
    CHECK(meant({"sh", "-c", "set -e; mpirun -np 2 ./x"}) == "mpirun: ");
    // A script that tells the nodes apart knows what it does.
    CHECK(meant({"sh", "-c", "exec torchrun --nnodes $NNODES --node_rank $NODE_RANK t.py"}) == "-");
}

TEST_CASE("what names a launcher and starts nothing is no launch line") {
    for (const Words& command :
         {Words{"train.py", "torchrun"}, Words{"python", "t.py", "-m", "torch.distributed.run"},
          Words{"which", "mpirun"}, Words{"sh", "-c", "command -v mpirun"},
          Words{"sh", "-c", "mpirun --version"}, Words{"mpirun", "--version"}, Words{"torchrun", "-h"},
          Words{"accelerate", "env"}, Words{"ray", "status"}, Words{"env", "A=1", "t.py", "srun"},
          Words{"bash", "launch.sh"}, Words{"echo", "torchrun"}, Words{"./deepspeed-train"}, Words{}}) {
        CAPTURE(shell_join(command));
        CHECK(meant(command) == "-");
    }
}

TEST_CASE("on several nodes a launch line is told with the one that was meant") {
    const auto told = [](const Words& command, std::size_t nodes) {
        const auto error = on_each_node(command, nodes);
        return error ? to_text(*error) : std::string("-");
    };
    CHECK(
        told({"torchrun", "--nproc_per_node", "2", "train.py", "--name", "a b"}, 2) ==
        "`torchrun` would start on each of the 2 nodes by itself: 2 jobs that know nothing about each other\n"
        "  for one job over all of them: `dockdist run --launcher torchrun --gpus 2 -- train.py --name 'a "
        "b'`; for the line as it is, on one node only: --nodes 1, or on each: --launcher plain");
    CHECK(told({"torchrun", "train.py"}, 1) == "-");
    CHECK(told({"train.py"}, 2) == "-");
    // The same words on each node, and one job: they meet at a place that is named.
    CHECK(told({"torchrun", "--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=node-0:29400", "t.py"},
               2) == "-");
    CHECK(told({"torchrun", "--nnodes=1", "--rdzv-endpoint=localhost:0", "t.py"}, 2) != "-");
    CHECK(told({"mpirun", "-np", "2", "./" + std::string(300, 'x')}, 3)
              .find("--launcher mpirun -- train.py …`") != std::string::npos);
    CHECK(told({"torchrun", "a\x1b[2J.py"}, 2).find('\x1b') == std::string::npos);
}

} // namespace launch_line_test
