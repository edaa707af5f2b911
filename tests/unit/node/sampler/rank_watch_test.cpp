#include "node/sampler/rank_watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <unistd.h>

namespace rank_watch_test {

using namespace dockdist;
using namespace dockdist::node;

namespace {

const auto ticks_per_second = ::sysconf(_SC_CLK_TCK);
const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

std::string environ_of(std::initializer_list<std::string> entries) {
    std::string block;
    for (const auto& entry : entries) {
        block += entry + '\0';
    }
    return block;
}

std::vector<wire::GpuInventory> gpus() {
    return {{.index = 0, .uuid = "GPU-a"},
            {.index = 1, .uuid = "GPU-b"},
            {.index = 2, .uuid = "GPU-c", .instances = {"MIG-1", "MIG-2"}}};
}

struct Node {
    RankWatch watch;
    std::vector<ProcessStat> processes{};
    std::map<pid_t, std::string> environs{};
    int asked = 0;

    explicit Node(std::string job = {}) : watch(std::move(job)) {}
    ProcessStat& start(pid_t pid, pid_t parent, std::string environ_block, std::int64_t started = 1) {
        environs[pid] = std::move(environ_block);
        processes.push_back({.pid = pid,
                             .parent = parent,
                             .state = 'S',
                             .started_ticks = started + pid,
                             .resident_pages = 10});
        return processes.back();
    }
    ProcessStat& at(pid_t pid) { return *std::ranges::find(processes, pid, &ProcessStat::pid); }
    std::vector<wire::RankSample> see() {
        return watch.see(processes, gpus(), [this](pid_t pid) {
            ++asked;
            return process_mark(environs[pid]);
        });
    }
};

} // namespace

TEST_CASE("processes are their rank's, with all below it") {
    Node node;
    node.start(10, 1, environ_of({"DOCKDIST_JOB=job-1", "CUDA_VISIBLE_DEVICES=GPU-b,GPU-a"}));
    for (int i = 0; i < 2; ++i) {
        const auto rank = std::to_string(i);
        node.start(20 + i, 10,
                   environ_of({"DOCKDIST_JOB=job-1", "RANK=" + std::to_string(4 + i), "LOCAL_RANK=" + rank,
                               "CUDA_VISIBLE_DEVICES=GPU-b,GPU-a"}));
        node.start(30 + i, 20 + i, environ_of({"DOCKDIST_JOB=job-1"})); // has dropped its rank
        node.start(40 + i, 30 + i, "");                                 // and this one all
    }
    node.start(50, 1, environ_of({"RANK=7"}));                         // of no job
    node.start(51, 1, environ_of({"DOCKDIST_JOB=:helper", "RANK=7"})); // a supervisor's helper
    const auto ranks = node.see();
    REQUIRE(ranks.size() == 3);
    CHECK(ranks[0] ==
          wire::RankSample{.job = "job-1", .rank = -1, .pid = 10, .memory_bytes = 10 * page, .gpus = {1, 0}});
    CHECK(ranks[1] ==
          wire::RankSample{.job = "job-1", .rank = 4, .pid = 20, .memory_bytes = 30 * page, .gpus = {1}});
    CHECK(ranks[2] ==
          wire::RankSample{.job = "job-1", .rank = 5, .pid = 21, .memory_bytes = 30 * page, .gpus = {0}});
    CHECK(Node("job-2").see().empty());
}

TEST_CASE("CPU time adds up, and does not fall when a worker ends") {
    Node node;
    node.start(20, 1, environ_of({"DOCKDIST_JOB=job-1", "RANK=0"})).cpu_ticks = ticks_per_second;
    node.start(21, 20, "").cpu_ticks = 2 * ticks_per_second;
    CHECK(node.see()[0].cpu_ms == 3000);
    node.processes.pop_back();
    node.at(20).cpu_ticks += ticks_per_second;
    CHECK(node.see()[0].cpu_ms == 4000);
    node.start(21, 20, "", 99).cpu_ticks = ticks_per_second; // the number is given again
    CHECK(node.see()[0].cpu_ms == 5000);
    CHECK(node.see()[0].cpu_ms == 5000);
}

TEST_CASE("CPU time of processes that come and go between two looks is who waited for them's, once") {
    Node node;
    node.start(20, 1, environ_of({"DOCKDIST_JOB=job-1", "RANK=0"}));
    node.see();
    node.at(20).waited_ticks = ticks_per_second; // of one that was never seen
    CHECK(node.see()[0].cpu_ms == 1000);
    node.start(21, 20, "");
    node.start(22, 21, "").cpu_ticks = 2 * ticks_per_second;
    CHECK(node.see()[0].cpu_ms == 3000);
    std::erase_if(node.processes,
                  [](const auto& one) { return one.pid == 22; }); // nobody has waited for it yet
    CHECK(node.see()[0].cpu_ms == 3000);
    node.at(21).waited_ticks = 5 * ticks_per_second;
    CHECK(node.see()[0].cpu_ms == 6000);
    std::erase_if(node.processes, [](const auto& one) { return one.pid == 21; });
    node.at(20).waited_ticks += 6 * ticks_per_second; // a second more than was seen
    CHECK(node.see()[0].cpu_ms == 7000);
    CHECK(node.see()[0].cpu_ms == 7000);
}

TEST_CASE("a process is asked for its environment twice, for it may have been forked just then") {
    Node node;
    node.start(10, 1, environ_of({"DOCKDIST_JOB=job-1"}));
    node.start(20, 10, environ_of({"DOCKDIST_JOB=job-1"}));
    CHECK(node.see().size() == 1);
    node.environs[20] = environ_of({"DOCKDIST_JOB=job-1", "OMPI_COMM_WORLD_RANK=3"});
    CHECK(node.see()[1].rank == 3);
    for (int i = 0; i < 5; ++i) {
        CHECK(node.see().size() == 2);
    }
    CHECK(node.asked == 4);
}

TEST_CASE("a rank's GPUs by index, UUID and instance; all where it says nothing") {
    const auto of = [](const char* visible, int rank, int local) {
        return gpus_of({.job = "j", .numbers = {.rank = rank, .local_rank = local}, .visible = visible},
                       gpus());
    };
    CHECK(of("GPU-c", 0, 0).empty()); // MIG splits it
    CHECK(of("MIG-2", 0, 0) == std::vector{2});
    CHECK(of("MIG-1,MIG-2", 0, -1) == std::vector{2});
    CHECK(of("GPU-b", 3, 3) == std::vector{1}); // its launcher has given it one already
    CHECK(of("GPU-a,GPU-b", 0, -1) == std::vector{0, 1});
    CHECK(of("", 0, 1) == std::vector{1});
    const ProcessMark alone{
        .job = "j", .numbers = {.rank = 0, .local_rank = 0, .local_world = 1}, .visible = "0,1"};
    CHECK(gpus_of(alone, gpus()) == std::vector{0, 1}); // one process for all of a node
    CHECK(of("", -1, -1).empty());
}

// What the launcher plain gives a node's script, which then launches ranks itself.
TEST_CASE("a script that has a number and launches ranks with torchrun or DeepSpeed is none of them") {
    Node node;
    const std::string job = "DOCKDIST_JOB=job-1", one = "LOCAL_WORLD_SIZE=1",
                      gpus = "CUDA_VISIBLE_DEVICES=0,1";
    for (const auto* size : {"LOCAL_WORLD_SIZE=2", "LOCAL_SIZE=2"}) {
        node = Node{};
        node.start(10, 1, environ_of({job, "RANK=1", "LOCAL_RANK=0", one, gpus}));
        node.start(11, 10, environ_of({job, "RANK=1", "LOCAL_RANK=0", one, gpus})); // the agent
        const auto kept = std::string(size).starts_with("LOCAL_SIZE") ? one : size;
        node.start(20, 11, environ_of({job, "RANK=2", "LOCAL_RANK=0", kept, size, gpus}));
        node.start(21, 11, environ_of({job, "RANK=3", "LOCAL_RANK=1", kept, size, gpus}));
        node.start(31, 21, environ_of({job, "RANK=3", "LOCAL_RANK=1", kept, size, gpus})); // loads data
        const auto ranks = node.see();
        REQUIRE(ranks.size() == 3);
        CHECK(ranks[0] ==
              wire::RankSample{
                  .job = "job-1", .rank = -1, .pid = 10, .memory_bytes = 20 * page, .gpus = {0, 1}});
        CHECK(ranks[1] ==
              wire::RankSample{.job = "job-1", .rank = 2, .pid = 20, .memory_bytes = 10 * page, .gpus = {0}});
        CHECK(ranks[2] ==
              wire::RankSample{.job = "job-1", .rank = 3, .pid = 21, .memory_bytes = 20 * page, .gpus = {1}});
    }
}

TEST_CASE("so is one that launches them with mpirun, which leaves RANK as it is") {
    Node node;
    const std::string job = "DOCKDIST_JOB=job-1", rank = "RANK=0", local = "LOCAL_RANK=0",
                      one = "LOCAL_WORLD_SIZE=1", visible = "CUDA_VISIBLE_DEVICES=0,1";
    node.start(10, 1, environ_of({job, rank, local, one, visible}));
    node.start(11, 10, environ_of({job, rank, local, one, visible})); // mpirun
    for (int i = 0; i < 2; ++i) {
        const auto number = std::to_string(i);
        const auto environ_block =
            environ_of({job, rank, local, one, visible, "OMPI_COMM_WORLD_RANK=" + number,
                        "OMPI_COMM_WORLD_LOCAL_RANK=" + number, "OMPI_COMM_WORLD_LOCAL_SIZE=2"});
        node.start(20 + i, 11, environ_block);
        node.start(30 + i, 20 + i, environ_block);
    }
    const auto ranks = node.see();
    REQUIRE(ranks.size() == 3);
    CHECK(ranks[0].rank == -1);
    CHECK(ranks[0].pid == 10);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(ranks[i + 1].rank == static_cast<int>(i));
        CHECK(ranks[i + 1].memory_bytes == 20 * page);
        CHECK(ranks[i + 1].gpus == std::vector{static_cast<int>(i)});
    }
}

TEST_CASE("a script that is a rank beside those that it starts by hand") {
    Node node;
    const std::string job = "DOCKDIST_JOB=job-1", one = "LOCAL_WORLD_SIZE=1",
                      visible = "CUDA_VISIBLE_DEVICES=0,1";
    node.start(10, 1, environ_of({job, "RANK=0", "LOCAL_RANK=0", one, visible}));
    node.start(20, 10, environ_of({job, "RANK=0", "LOCAL_RANK=0", one, visible}));
    node.start(21, 10, environ_of({job, "RANK=1", "LOCAL_RANK=1", one, visible}));
    const auto ranks = node.see();
    REQUIRE(ranks.size() == 2);
    CHECK(ranks[0].rank == 0);
    CHECK(ranks[0].memory_bytes == 20 * page);
    CHECK(ranks[1].rank == 1);
    CHECK(ranks[1].gpus == std::vector{1});
}

TEST_CASE("a rank that starts something with a number of its own is the rank that it was") {
    Node node;
    const std::string job = "DOCKDIST_JOB=job-1";
    node.start(20, 1,
               environ_of({job, "RANK=3", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=2", "CUDA_VISIBLE_DEVICES=0,1"}));
    node.start(21, 20, environ_of({job, "RANK=0", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1"})); // evaluates
    const auto ranks = node.see();
    REQUIRE(ranks.size() == 1);
    CHECK(ranks[0].rank == 3);
    CHECK(ranks[0].gpus == std::vector{1});
}

TEST_CASE("there is an end to ranks") {
    Node node;
    for (int i = 0; i < 1100; ++i) {
        node.start(100 + i, 1, environ_of({"DOCKDIST_JOB=job-1", "RANK=" + std::to_string(i)}));
    }
    CHECK(node.see().size() == wire::most_sampled_ranks);
}

} // namespace rank_watch_test
