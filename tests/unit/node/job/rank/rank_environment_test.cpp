#include "node/job/rank/rank_environment.hpp"
#include "node/session/rank_names.hpp"

#include <doctest/doctest.h>

namespace rank_environment_test {

using namespace dockdist::node;
using namespace std::string_literals;
using Words = std::vector<std::string>;

TEST_CASE("ranks are named as torch names them, unless they are already") {
    const auto named = [](const std::string& block) {
        auto environment = Environment::from_block(block);
        name_ranks(environment);
        return environment.get("RANK").value_or("-") + " " + environment.get("LOCAL_RANK").value_or("-") +
               " " + environment.get("WORLD_SIZE").value_or("-") + " " +
               environment.get("LOCAL_WORLD_SIZE").value_or("-");
    };
    CHECK(named("OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_LOCAL_RANK=1\0OMPI_COMM_WORLD_SIZE=8\0"
                "OMPI_COMM_WORLD_LOCAL_SIZE=4\0"s) == "3 1 8 4");
    CHECK(named("PMI_RANK=3\0PMI_SIZE=8\0MPI_LOCALRANKID=1\0MPI_LOCALNRANKS=4\0"s) == "3 1 8 4");
    CHECK(named("SLURM_PROCID=3\0SLURM_LOCALID=1\0SLURM_NTASKS=8\0"s) == "3 1 8 -");
    CHECK(named("HOROVOD_RANK=3\0HOROVOD_LOCAL_RANK=1\0HOROVOD_SIZE=8\0HOROVOD_LOCAL_SIZE=4\0"s) ==
          "3 1 8 4");
    CHECK(named("RANK=3\0LOCAL_RANK=1\0WORLD_SIZE=8\0LOCAL_SIZE=4\0"s) == "3 1 8 4"); // DeepSpeed
    CHECK(named("RANK=0\0SLURM_PROCID=5\0"s) == "0 - - -");
}

// As the first node's.
bool is_told(std::string_view name, std::string_view value) {
    return (name == "NCCL_IB_HCA" && value == "=mlx5_0:1") ||
           (name == "UCX_NET_DEVICES" && value == "mlx5_0:1,eth0");
}

TEST_CASE("what the launcher brought from its own node gives way to this node's record, the part wins") {
    const auto own = Environment::from_block(
        "NCCL_SOCKET_IFNAME==eth0\0DOCKDIST_NODE=node-0\0NODE_RANK=0\0NCCL_DEBUG=INFO\0A=launcher\0GONE=1\0"s);
    const auto recorded = Environment::from_block(
        "NCCL_SOCKET_IFNAME==ens5\0DOCKDIST_NODE=node-1\0NCCL_DEBUG=WARN\0A=container\0"s);
    const auto rank = rank_environment(own, recorded,
                                       {.job = "j", .env = {{"NODE_RANK", "1"}}, .unset = {"GONE"}}, is_told);
    CHECK(rank.get("NCCL_SOCKET_IFNAME") == "=ens5");
    CHECK(rank.get("DOCKDIST_NODE") == "node-1");
    CHECK(rank.get("NODE_RANK") == "1");
    CHECK(rank.get("NCCL_DEBUG") == "INFO"); // does not differ by node: the launcher's choice
    CHECK(rank.get("A") == "launcher");
    CHECK_FALSE(rank.get("GONE").has_value());
    const auto chosen = rank_environment(
        own, recorded, {.job = "j", .env = {{"NCCL_SOCKET_IFNAME", "ib0"}, {"A", "job"}}}, is_told);
    CHECK(chosen.get("NCCL_SOCKET_IFNAME") == "ib0");
    CHECK(chosen.get("A") == "job");
}

TEST_CASE("of RDMA's variables those of another node give way, what the launcher's user chose stays") {
    const auto own = Environment::from_block(
        "NCCL_IB_HCA==mlx5_0:1\0UCX_NET_DEVICES=mlx5_0:1,eth0\0NVSHMEM_HCA_LIST=mine:1\0NCCL_NET=Socket\0"s);
    const auto recorded = Environment::from_block(
        "NCCL_IB_HCA==rocep1s0f0:1\0NVSHMEM_HCA_LIST=rocep1s0f0:1\0NCCL_IB_GID_INDEX=4\0NCCL_NET=IB\0"s);
    const auto rank = rank_environment(own, recorded, {.job = "j"}, is_told);
    CHECK(rank.get("NCCL_IB_HCA") == "=rocep1s0f0:1");
    CHECK_FALSE(rank.get("UCX_NET_DEVICES").has_value()); // this node has none of its own
    CHECK(rank.get("NVSHMEM_HCA_LIST") == "mine:1");
    CHECK(rank.get("NCCL_IB_GID_INDEX") == "4");
    CHECK(rank.get("NCCL_NET") == "Socket");
}

TEST_CASE("OpenMP's threads are the node's own, unless somebody else has said how many") {
    const auto threads = [](const std::string& block, const JobPart& part) {
        return rank_environment(Environment::from_block(block), {}, part, is_told)
            .get("OMP_NUM_THREADS")
            .value_or("-");
    };
    const JobPart part{.job = "j", .threads = 8};
    CHECK(threads("", part) == "8");
    CHECK(threads("OMP_NUM_THREADS=16\0DOCKDIST_OMP_NUM_THREADS=16\0"s, part) == "8"); // the first node's
    CHECK(threads("OMP_NUM_THREADS=4\0DOCKDIST_OMP_NUM_THREADS=16\0"s, part) ==
          "4"); // the launcher's options
    CHECK(threads("OMP_NUM_THREADS=16\0"s, part) == "16");
    CHECK(threads("OMP_NUM_THREADS=16\0"s, {.job = "j"}) == "16");
    CHECK(threads("", {.job = "j"}) == "-");
    CHECK(threads("", {.job = "j", .env = {{"OMP_NUM_THREADS", "2"}}, .threads = 8}) == "2");
}

TEST_CASE("a Python that crashes tells where, unless the user does not want it") {
    const auto shown = [](const std::string& block, const std::map<std::string, std::string>& job) {
        return rank_environment(Environment::from_block(block), {}, {.job = "j", .env = job}, is_told)
            .get("PYTHONFAULTHANDLER");
    };
    CHECK(shown("A=1\0"s, {}) == "1");
    CHECK(shown("PYTHONFAULTHANDLER=\0"s, {}) == "");
    CHECK(shown("A=1\0"s, {{"PYTHONFAULTHANDLER", "0"}}) == "0");
}

TEST_CASE("what helps to tell why it hangs is set where nobody else has set it, under either name") {
    const JobPart part{.job = "j",
                       .env_defaults = {{"NCCL_RAS_ADDR", "127.0.0.1:20001"},
                                        {"TORCH_FR_BUFFER_SIZE", "2000"},
                                        {"TORCH_NCCL_TRACE_BUFFER_SIZE", "2000"}}};
    const auto seen = [&](const std::string& block, JobPart told) {
        const auto environment = rank_environment(Environment::from_block(block), {}, told, is_told);
        return environment.get("NCCL_RAS_ADDR").value_or("-") + " " +
               environment.get("TORCH_FR_BUFFER_SIZE").value_or("-") + " " +
               environment.get("TORCH_NCCL_TRACE_BUFFER_SIZE").value_or("-");
    };
    CHECK(seen("A=1\0"s, part) == "127.0.0.1:20001 2000 2000");
    CHECK(seen("NCCL_RAS_ADDR=10.0.0.1:1\0"s, part) == "10.0.0.1:1 2000 2000");
    CHECK(seen("TORCH_NCCL_TRACE_BUFFER_SIZE=0\0"s, part) == "127.0.0.1:20001 0 0");
    CHECK(seen("TORCH_FR_BUFFER_SIZE=7\0"s, part) == "127.0.0.1:20001 7 7");
    auto unset = part;
    unset.unset = {"NCCL_RAS_ADDR"};
    CHECK(seen("A=1\0"s, unset) == "- 2000 2000");
    auto env = part;
    env.env = {{"TORCH_FR_BUFFER_SIZE", "9"}};
    CHECK(seen("A=1\0"s, env) == "127.0.0.1:20001 9 9");
}

TEST_CASE("what is one rank's alone goes over the part and its GPUs") {
    const JobPart part{.job = "j",
                       .env = {{"A", "part"}},
                       .gpus = "GPU-1",
                       .rank_env = {{{"A", "first"}, {"CUDA_VISIBLE_DEVICES", "-1"}}, {{"B", "second"}}}};
    const auto seen = [&](const std::string& block) {
        const auto rank = rank_environment(Environment::from_block(block), {}, part, is_told);
        return rank.get("A").value_or("-") + " " + rank.get("B").value_or("-") + " " +
               rank.get("CUDA_VISIBLE_DEVICES").value_or("-");
    };
    CHECK(seen("LOCAL_RANK=0\0"s) == "first - -1");
    CHECK(seen("LOCAL_RANK=1\0"s) == "part second GPU-1");
    CHECK(seen("LOCAL_RANK=2\0"s) == "part - GPU-1");
    CHECK(seen("A=launcher\0"s) == "part - GPU-1");
}

TEST_CASE("the local rank is put before the word that wants it, when it is known") {
    const auto environment = Environment::from_block("LOCAL_RANK=3\0"s);
    const JobPart part{.rank_command = {"python", "t.py", "--x"}, .local_rank_at = 2};
    CHECK(rank_argv(part, environment) == Words{"python", "t.py", "--local_rank=3", "--x"});
    CHECK(rank_argv(part, {}) == Words{"python", "t.py", "--x"});
    CHECK(rank_argv({.rank_command = {"a"}, .local_rank_at = 1, .local_rank_option = "--local-rank"},
                    environment) == Words{"a", "--local-rank=3"});
    CHECK(rank_argv({.rank_command = {"a"}}, environment) == Words{"a"});
}

TEST_CASE("a rank sees the job's own GPUs, whatever its launcher has set; without any, what that has set") {
    const auto own = Environment::from_block("CUDA_VISIBLE_DEVICES=0,1\0"s);
    CHECK(
        rank_environment(own, {}, {.job = "j", .gpus = "GPU-1,GPU-2"}, is_told).get("CUDA_VISIBLE_DEVICES") ==
        "GPU-1,GPU-2");
    CHECK(rank_environment(own, {}, {.job = "j"}, is_told).get("CUDA_VISIBLE_DEVICES") == "0,1");
}

} // namespace rank_environment_test
