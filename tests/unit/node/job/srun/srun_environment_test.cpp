#include "node/job/srun/srun_environment.hpp"

#include <doctest/doctest.h>

namespace srun_environment_test {

using namespace dockdist::node;
using namespace std::string_literals;
using Words = std::vector<std::string>;

namespace {

std::string carried(const std::string& own, const std::string& recorded,
                    const std::optional<JobPart>& part = {}, const ExportedVariables& exported = {}) {
    const auto found =
        carried_variables(Environment::from_block(own), Environment::from_block(recorded), part, exported);
    std::string text;
    for (const auto& [name, value] : found.set) {
        text += name + "=" + value + " ";
    }
    for (const auto& name : found.unset) {
        text += "-" + name + " ";
    }
    return text;
}

} // namespace

TEST_CASE("what the user has made different goes to all nodes, and nothing that is true of one alone") {
    CHECK(carried("PATH=/bin\0A=1\0B=2\0"s, "PATH=/bin\0A=0\0"s) == "A=1 B=2 ");
    CHECK(carried("NCCL_SOCKET_IFNAME==eth0\0"s, "NCCL_SOCKET_IFNAME==eth0\0"s).empty());
    CHECK(carried("NCCL_SOCKET_IFNAME==ib0\0"s, "NCCL_SOCKET_IFNAME==eth0\0"s) == "NCCL_SOCKET_IFNAME==ib0 ");
    CHECK(carried("DOCKDIST_NODE=node-0\0HOSTNAME=h\0PWD=/x\0RANK=0\0SSH_TTY=/dev/pts/0\0"s, ""s).empty());
    CHECK(carried("A=\0"s, "A=1\0B=1\0DOCKDIST_NODE=node-0\0"s) == "A= -B ");
}

TEST_CASE("a GPU's UUID is of one machine, and its number of any") {
    CHECK(carried("CUDA_VISIBLE_DEVICES=GPU-1,GPU-2\0"s, ""s).empty());
    CHECK(carried("CUDA_VISIBLE_DEVICES=MIG-1\0"s, ""s).empty());
    CHECK(carried("CUDA_VISIBLE_DEVICES=0,1\0"s, ""s) == "CUDA_VISIBLE_DEVICES=0,1 ");
}

TEST_CASE("what the job has put there each node's part has") {
    const JobPart part{.job = "j", .env = {{"MASTER_PORT", "20001"}}, .secrets = {{"TOKEN", "s3cret"}}};
    CHECK(carried("MASTER_PORT=20001\0TOKEN=s3cret\0"s, ""s, part).empty());
    CHECK(carried("MASTER_PORT=29500\0"s, ""s, part) == "MASTER_PORT=29500 "); // `export MASTER_PORT=29500`
}

TEST_CASE("--export chooses") {
    CHECK(carried("A=1\0B=2\0"s, "C=3\0"s, {}, {.all = false}).empty());
    CHECK(carried("A=1\0B=2\0"s, ""s, {}, {.all = false, .names = {"A"}, .values = {{"D", "4"}}}) ==
          "A=1 D=4 ");
    CHECK(carried("A=1\0"s, "D=0\0"s, {}, {.all = true, .values = {{"D", "4"}}}) == "A=1 D=4 ");
}

TEST_CASE("the GPUs of a task") {
    const Words visible{"0", "1", "2", "3"};
    CHECK(gpus_of_task(visible, 4, 0, 1) == "0,1,2,3");
    CHECK(gpus_of_task(visible, 2, 0, 1) == "0,1");
    CHECK(gpus_of_task(visible, 4, 1, 2) == "2");
    CHECK(gpus_of_task(visible, 4, 2, 1) == "2,3");
    CHECK(gpus_of_task(visible, 0, 0, 0).empty());
    CHECK(gpus_of_task({"GPU-1", "GPU-2"}, 2, 1, 1) == "GPU-2");
}

} // namespace srun_environment_test
