#include "client/check/gpu_rows.hpp"
#include "facts_builder.hpp"

#include <doctest/doctest.h>

namespace gpu_rows_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

namespace {

std::vector<NodeSpec> all_of(std::size_t count, GpuSpec gpus = {}) {
    return std::vector<NodeSpec>(count, NodeSpec{.gpus = gpus});
}

CheckRow one_row(const CheckedNode& node, const std::string& check, GpuSpec gpus = {}) {
    const auto rows = rows_of(judge_gpus({node}, all_of(1, gpus)).rows, check);
    REQUIRE(rows.size() == 1);
    return rows[0];
}

CheckedNode answering(const char* program, int code, const std::string& output) {
    auto node = facts_of(0);
    node.facts.programs.insert_or_assign(program, wire::ProgramOutput{code, output});
    return node;
}

} // namespace

TEST_CASE("GPUs that are there") {
    const auto found = judge_gpus(cluster_facts(2), all_of(2));
    CHECK(rows_of(found.rows, "gpus")[1].text == "1 × NVIDIA H100");
    REQUIRE(found.gpus.size() == 2);
    CHECK(found.gpus[1].cuda == "12.4");
    const auto drivers = rows_of(found.rows, "driver");
    REQUIRE(drivers.size() == 1);
    CHECK(drivers[0].subject == "all nodes");
    CHECK(drivers[0].text == "driver 550.127.08, CUDA 12.4");
    CHECK(rows_of(found.rows, "models").empty());

    auto hostile = facts_of(0);
    hostile.facts.programs.insert_or_assign("gpu-table", wire::ProgramOutput{0, "CUDA Version: 12\x1b[2J |"});
    CHECK(one_row(hostile, "driver").text == "driver 550.127.08, CUDA 12\\x1b[2J");
}

TEST_CASE("an nvidia-smi that warns is a row, and its GPUs are there") {
    const std::string warning = "WARNING: infoROM is corrupted at gpu 0000:3B:00.0\n";
    auto node = answering("gpus", 14, gpu_line("0, GPU-aa") + warning);
    node.facts.programs.insert_or_assign("gpu-remaps",
                                         wire::ProgramOutput{14, "GPU-aa, No, Yes\n" + warning});
    const auto found = judge_gpus({node}, all_of(1));
    const auto row = rows_of(found.rows, "gpus").at(0);
    CHECK(row.state == State::warn);
    CHECK(row.text == "1 × NVIDIA H100; nvidia-smi warns: WARNING: infoROM is corrupted at gpu 0000:3B:00.0");
    CHECK(row.hint.find("infoROM") != std::string::npos);
    CHECK(found.gpus.size() == 1);
    CHECK(rows_of(found.rows, "ecc").at(0).text == "rows of memory could not be remapped: GPU 0");
    CHECK(one_row(answering("gpus", 14, gpu_line("0, GPU-aa")), "gpus").text ==
          "1 × NVIDIA H100; nvidia-smi warns: code 14");
    CHECK(one_row(answering("gpus", 139, gpu_line("0, GPU-aa")), "gpus").state == State::fail);
    CHECK(one_row(answering("gpus", 14, warning), "gpus").state == State::fail);
}

TEST_CASE("GPUs that are not usable, too few, not told of, or not wanted") {
    const auto vanished =
        one_row(answering("gpus", 255, "Failed to initialize NVML: Unknown Error\n"), "gpus");
    CHECK(vanished.state == State::fail);
    CHECK(vanished.text ==
          "the GPUs are not usable in the running container: Failed to initialize NVML: Unknown Error");
    CHECK(vanished.hint.find("daemon-reload") != std::string::npos);

    const auto few = one_row(facts_of(0), "gpus", {.kind = GpuSpec::Kind::count, .count = 2});
    CHECK(few.state == State::fail);
    CHECK(few.text == "1 of 2 GPUs are visible");

    CHECK(one_row(answering("gpus", 127, ""), "gpus").text == "no nvidia-smi in the container");
    CHECK(one_row(answering("gpus", -1, ""), "gpus").text ==
          "nvidia-smi gave no answer: it did not finish within 12 s");
    CHECK(one_row(answering("gpus", 0, "garbage\n"), "gpus").state == State::fail);
    const auto lost =
        one_row(answering("gpus", 0,
                          "Unable to determine the device handle for GPU1: 0000:3B:00.0: Unknown Error\n" +
                              gpu_line("0, GPU-aa")),
                "gpus");
    CHECK(lost.state == State::fail);
    CHECK(lost.text == "Unable to determine the device handle for GPU1: 0000:3B:00.0: Unknown Error");
    auto unasked = facts_of(0);
    unasked.facts.programs.clear();
    CHECK(one_row(unasked, "gpus").state == State::fail);

    const auto none = judge_gpus({unasked}, all_of(1, {.kind = GpuSpec::Kind::none}));
    REQUIRE(none.rows.size() == 1);
    CHECK(none.rows[0].state == State::pass);
    CHECK(none.rows[0].text == "none asked for");
}

TEST_CASE("a driver that differs is a warning that names the odd node") {
    auto nodes = cluster_facts(3);
    nodes[1].facts.programs.insert_or_assign(
        "gpus", wire::ProgramOutput{0, gpu_line("0, GPU-aa", "NVIDIA H100", "1", "535.1")});
    const auto drivers = rows_of(judge_gpus(nodes, all_of(3)).rows, "driver");
    REQUIRE(drivers.size() == 2);
    CHECK(drivers[0].subject == "node-0, node-2");
    CHECK(drivers[0].state == State::pass);
    CHECK(drivers[1].subject == "node-1");
    CHECK(drivers[1].state == State::warn);
    CHECK(drivers[1].text == "driver 535.1, CUDA 12.4, and node-0, node-2 have 550.127.08, CUDA 12.4");
}

TEST_CASE("GPUs of another kind, or fewer of them where all were asked for") {
    auto nodes = cluster_facts(3);
    nodes[2].facts.programs.insert_or_assign("gpus",
                                             wire::ProgramOutput{0, gpu_line("0, GPU-aa", "NVIDIA A100")});
    const auto kinds = rows_of(judge_gpus(nodes, all_of(3)).rows, "models");
    REQUIRE(kinds.size() == 1);
    CHECK(kinds[0].subject == "node-2");
    CHECK(kinds[0].text == "1 × NVIDIA A100, and node-0, node-1 have 1 × NVIDIA H100");
    CHECK(kinds[0].state == State::warn);

    nodes = cluster_facts(3);
    const auto two = gpu_line("0, GPU-aa") + gpu_line("1, GPU-bb");
    nodes[0].facts.programs.insert_or_assign("gpus", wire::ProgramOutput{0, two});
    CHECK(rows_of(judge_gpus(nodes, all_of(3)).rows, "models").size() == 1);
    // The file gives each node its share: counts may differ.
    CHECK(rows_of(judge_gpus(nodes, all_of(3, {.kind = GpuSpec::Kind::count, .count = 1})).rows, "models")
              .empty());
}

TEST_CASE("memory errors: none, uncorrected, rows that wait, rows that failed, not told") {
    const auto with_errors = [](const char* count) {
        return one_row(answering("gpus", 0, gpu_line("0, GPU-aa", "NVIDIA H100", "1", "550.127.08", count)),
                       "ecc");
    };
    CHECK(with_errors("[N/A]").text == "not reported by these GPUs");
    CHECK(with_errors("0").text == "no uncorrected memory errors");

    const auto errors = with_errors("3");
    CHECK(errors.state == State::warn);
    CHECK(errors.text == "uncorrected memory errors since the driver was loaded: GPU 0 (3)");
    CHECK(errors.hint.find("--gpu-reset") != std::string::npos);

    for (const auto* yes : {"GPU-aa, 1, 0\n", "GPU-aa, Yes, No\n"}) {
        const auto pending = one_row(answering("gpu-remaps", 0, yes), "ecc");
        CHECK(pending.state == State::warn);
        CHECK(pending.text == "rows of memory wait to be remapped: GPU 0");
    }
    const auto failed = one_row(answering("gpu-remaps", 0, "GPU-aa, 1, 1\n"), "ecc");
    CHECK(failed.state == State::fail);
    CHECK(failed.text == "rows of memory could not be remapped: GPU 0");
    CHECK(one_row(answering("gpu-remaps", 0, "GPU-aa, 0, 0\nhalf\n, , \n"), "ecc").state == State::pass);
}

TEST_CASE("memory that is held: by nobody, a job of the cluster, a process, somebody unseen") {
    CHECK(one_row(facts_of(0), "memory").text == "the GPUs' memory is free");

    auto held = answering("gpus", 0, gpu_line("0, GPU-aa", "NVIDIA H100", "20480"));
    const auto unseen = one_row(held, "memory");
    CHECK(unseen.state == State::warn);
    CHECK(unseen.text == "GPU memory is held, and no job of this cluster runs here: GPU 0: 20.0 GiB");

    held.facts.programs.insert_or_assign(
        "gpu-processes", wire::ProgramOutput{0, "GPU-aa, 4711, 20400, python3\nGPU-zz, 1, 2, x\n"});
    CHECK(one_row(held, "memory").text == "GPU memory is held, and no job of this cluster runs here: GPU 0: "
                                          "20.0 GiB by process 4711 (python3)");

    held.facts.system->jobs = {"vision-1"};
    CHECK(one_row(held, "memory").state == State::pass);
    CHECK(one_row(held, "memory").text == "the job vision-1 runs here and holds GPU memory");
}

TEST_CASE("how an engine gives GPUs: NVIDIA's runtime, its hook alone, CDI") {
    HostSpec host{.name = HostName("a")};
    CHECK(judge_toolkit(host, {.runtimes = {"nvidia", "runc"}})
              .text.starts_with("NVIDIA's runtime is registered"));
    CHECK(judge_toolkit(host, {.runtimes = {"runc"}}).text.starts_with("by NVIDIA's hook"));
    host.cdi = true;
    CHECK(judge_toolkit(host, {.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=all", "x/y=z"}}).text ==
          "CDI: 2 names of GPUs");
    CHECK(judge_toolkit(host, {}).text == "CDI");
    host.cdi.reset();
    CHECK(judge_toolkit(host, {.podman = true}).text == "CDI");
    host.gpus = {.amd = true};
    CHECK(judge_toolkit(host, {}).text == "AMD's GPUs, as devices: no toolkit is needed");
    host.gpus = {.kind = GpuSpec::Kind::devices, .devices = {"amd.com/gpu=all"}};
    CHECK(judge_toolkit(host, {}).text == "AMD's GPUs by CDI names");
}

TEST_CASE("AMD's GPUs are known from what dockdist-init says of them") {
    const GpuSpec amd{.amd = true};
    const auto questions = gpu_questions(amd);
    REQUIRE(questions.size() == 1);
    CHECK(questions[0].argv.back() == "gpus");
    wire::GpuReport report{.driver = "6.8.5"};
    for (int i = 0; i < 2; ++i) {
        report.units.push_back({.unit = {.id = "GPU-000000000000000" + std::to_string(i),
                                         .index = i,
                                         .name = "AMD Instinct MI300X"},
                                .memory_used_mib = 20480,
                                .memory_total_mib = 196592});
    }
    const auto node = answering("gpus", 0, wire::gpu_report_line(report));
    const auto found = judge_gpus({node}, all_of(1, amd));
    CHECK(rows_of(found.rows, "gpus")[0].text == "2 × AMD Instinct MI300X");
    CHECK(rows_of(found.rows, "driver")[0].text == "driver 6.8.5");
    CHECK(rows_of(found.rows, "memory")[0].text.find("GPU 0: 20.0 GiB, GPU 1: 20.0 GiB") !=
          std::string::npos);
    CHECK(rows_of(found.rows, "memory")[0].hint.find("fuser -v /dev/kfd") != std::string::npos);
    REQUIRE(found.gpus.size() == 1);
    CHECK(found.gpus[0].gpus[1].uuid == "GPU-0000000000000001");

    report.units[0].problem = "GPU 0 has 1 uncorrected memory error";
    report.units[1].problem = "GPU 1 is gone";
    const auto ill = one_row(answering("gpus", 0, wire::gpu_report_line(report)), "gpus", amd);
    CHECK(ill.state == State::warn);
    CHECK(ill.text == "2 × AMD Instinct MI300X; GPU 0 has 1 uncorrected memory error; GPU 1 is gone");

    const GpuSpec three{.kind = GpuSpec::Kind::devices,
                        .devices = {"amd.com/gpu=0", "amd.com/gpu=1", "amd.com/gpu=2"}};
    CHECK(one_row(node, "gpus", three).text == "2 of 3 GPUs of AMD are visible");
    for (const auto& unknown : {answering("gpus", 0, "{}\n"), answering("gpus", 127, ""), facts_of(0)}) {
        const auto row = one_row(unknown, "gpus", amd);
        CHECK(row.state == State::fail);
        CHECK(row.text == "0 of 1 GPUs of AMD are visible");
    }
}

} // namespace gpu_rows_test
