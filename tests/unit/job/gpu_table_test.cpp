#include "client/job/gpu_table.hpp"
#include "golden.hpp"

#include <string>
#include <vector>

namespace gpu_table_test {

using namespace dockdist;

namespace {

wire::GpuFacts facts(int index, const char* id, double used_mib, double busy) {
    return {.unit = {.id = id, .index = index, .name = "NVIDIA H100 80GB HBM3"},
            .memory_used_mib = used_mib,
            .memory_total_mib = 81559,
            .utilization_percent = busy};
}

wire::GpuHold by(const char* cluster, const char* job, const char* owner, std::int64_t age_s) {
    return {.by = {.cluster = cluster, .node = "node-0", .job = job, .owner = owner, .age_s = age_s}};
}

ReadyNode node(const char* name, std::size_t host) {
    return {.name = NodeName(name), .host = host};
}

} // namespace

TEST_CASE("the table of GPUs, and of who waits for them") {
    auto first = facts(0, "GPU-a", 72900, 98);
    first.hold = by("llm", "job-a", "user-a@desk", 720);
    auto free = facts(1, "GPU-b", 1, 0);
    auto outside = facts(2, "GPU-c", 3072, 40);
    outside.hold = wire::GpuHold{.by = {.job = "3072 MiB in use"}, .outside = true};
    auto broken = facts(3, "GPU-d", 0, 0);
    broken.problem = "GPU 3 has 2 uncorrected memory errors";
    wire::GpuFacts instance{.unit = {.id = "MIG-1", .index = 4, .name = "NVIDIA H100 80GB HBM3 MIG 3g.40gb"}};
    auto instance_held = instance;
    instance_held.unit.id = "MIG-2";
    instance_held.hold =
        by("vision", "\x1b[2Jjob", "somebody-with-a-long-name@a-machine-with-a-longer-one", 4 * 24 * 3600);
    auto nobody = facts(5, "GPU-f", 500, 3);
    nobody.hold = wire::GpuHold{.by = {.cluster = "llm", .age_s = 59}};
    wire::GpuFacts slot{.unit = {.id = "slot:llm/node-2/0"}};
    auto slot_held = slot;
    slot_held.unit = {.id = "slot:llm/node-2/1", .index = 1};
    slot_held.hold = by("llm", "job-s", "user-s@desk", 3);
    const wire::GpuWaiter waiter{.who = by("llm", "job-c", "user-c@desk", 30).by, .wanted = 4};
    const wire::GpuWaiter urgent{
        .who = by("vision", "job-d", "user-d@desk", 10).by, .wanted = 1, .priority = 5};

    const std::vector<ReadyNode> nodes{node("node-2", 1), node("node-0", 0), node("node-1", 0),
                                       node("gone", 2)};
    const std::vector<Result<wire::GpuReport>> reports{
        wire::GpuReport{.units = {slot, slot_held}},
        wire::GpuReport{.units = {first, free, instance_held, outside}, .line = {urgent, waiter}},
        wire::GpuReport{.units = {first, broken, instance, nobody},
                        .line = {urgent, waiter},
                        .problem = "nvidia-smi does not answer"},
        Error{ErrorKind::timeout, "gone", "no answer", ""}};
    const auto hosts = gpus_by_host(nodes, reports);
    REQUIRE(hosts.size() == 2); // two nodes of one host, and another host
    check_golden("job/gpu_table.txt", gpus_text(hosts, {"gpu-box-0", "gpu-box-1", "gpu-box-2"}, no_terminal));
    std::string narrow;
    for (const std::size_t columns : {120U, 80U, 40U}) {
        narrow +=
            "--- " + std::to_string(columns) + "\n" +
            gpus_text(hosts, {"gpu-box-0", "gpu-box-1", "gpu-box-2"}, {.unicode = true, .columns = columns});
    }
    check_golden("job/gpu_table_widths.txt", narrow);
}

TEST_CASE("a GPU that a node of another cluster has for itself is kept for it, job or not") {
    auto kept = facts(0, "GPU-a", 1, 0);
    kept.hold = by("speech", "", "ada@desk", 0);
    const auto text =
        gpus_text({gpus_of_host(0, {.units = {kept}, .problem = "no more is known"})}, {"box"}, no_terminal);
    CHECK(text.find("kept for node-0") != std::string::npos);
    CHECK(text.find("ada@desk") != std::string::npos);
    CHECK(text.find("box: no more is known") != std::string::npos);
}

TEST_CASE("hosts without GPUs where nobody has a slot") {
    const auto hosts = gpus_by_host({node("node-0", 0)},
                                    {wire::GpuReport{.units = {{.unit = {.id = "slot:llm/node-0/0"}}}}});
    CHECK(gpus_text(hosts, {"node-0"}, no_terminal) == "no GPUs, and nobody has a slot\n");
    CHECK(gpus_text({{.host = 0, .problems = {"nobody knows"}}}, {"node-0"}, no_terminal) ==
          "node-0: nobody knows\n");
}

} // namespace gpu_table_test
