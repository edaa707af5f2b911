#include "client/export/slurm.hpp"
#include "golden.hpp"
#include "unit/export/support.hpp"

#include <algorithm>

namespace slurm_export_test {

using namespace dockdist;
using dockdist::test::job_of;
using dockdist::test::Line;

namespace {

const std::string two_nodes = R"(
name: vision
image: nvcr.io/nvidia/pytorch:24.01-py3
hosts:
  - {docker: ssh://a, gpus: 8}
  - {docker: ssh://b, gpus: 8}
)";

const std::vector<std::string> words{"train.py", "--name", "it's $HOME", "100%", "", "two\nlines"};

Exported exported(const ExportJob& job, const SlurmOptions& options = {}) {
    auto result = export_slurm(job, options);
    REQUIRE_MESSAGE(result.has_value(), to_text(result.error()));
    return *result;
}

bool warns_of(const Exported& exported, const std::string& where) {
    return std::ranges::any_of(exported.warnings,
                               [&](const Error& warning) { return warning.where == where; });
}

} // namespace

TEST_CASE("each launcher's script for Slurm is as in its golden file") {
    for (const auto* launcher : {"plain", "torchrun", "torch.distributed.launch", "deepspeed", "accelerate",
                                 "ray", "slurm", "jax", "tensorflow"}) {
        CAPTURE(launcher);
        const auto script = exported(job_of(two_nodes, {.launcher = launcher, .command = words}));
        CHECK(script.warnings.empty());
        check_golden("export/slurm/" + std::string(launcher) + ".sh", script.text);
    }
}

TEST_CASE("what a file and a line can say is in the script, or a warning by its name") {
    auto job = job_of(R"(
name: vision
image: docker.io/library/ubuntu:24.04
hosts: [{docker: ssh://a, gpus: 4}]
container:
  mounts: ["/data:/data:ro", "cache:/cache", "/a,b:/c", "/my data:/more"]
  env: {LR: "0.1", NOTE: "it's"}
  secrets: {HF_TOKEN: }
  workdir: /workspace/run
  privileged: true
  shm_size: 8g
sync: [".:/workspace"]
setup: [make]
)",
                      {.launcher = "torchrun", .env = {{"LR", "0.2"}}});
    job.timeout = std::chrono::hours(30);
    job.max_restarts = 2;
    job.given = {"--timeout", "--max-restarts", "--stall", "--nodes"};
    const auto script = exported(
        job, {.sbatch = {"--partition=gpu", "--comment=#1 of 2: \"it's\" \\"}, .srun = {"--mpi=none"}});
    check_golden("export/slurm/everything.sh", script.text);
    std::string warnings;
    for (const auto& warning : script.warnings) {
        warnings += to_text(warning) + "\n";
    }
    check_golden("export/slurm/everything.txt", warnings);
}

TEST_CASE("without containers no word of pyxis' is left, and sync's folder is where the job runs") {
    auto job = job_of(two_nodes + "container: {workdir: /workspace/run}\nsync: [\".:/workspace\"]\n",
                      {.launcher = "torchrun"});
    const auto script = exported(job, {.container = false});
    CHECK(script.text.find("--container") == std::string::npos);
    CHECK(script.text.find("--chdir=/home/ada/vision/run") != std::string::npos);
    check_golden("export/slurm/no-container.sh", script.text);
}

TEST_CASE("nodes with different slots are told apart by their number") {
    const auto job = job_of(R"(
name: vision
image: a
hosts:
  - {docker: ssh://a, gpus: none, slots: 1}
  - {docker: ssh://b, gpus: none, slots: 2}
  - {docker: ssh://c, gpus: none, slots: 2}
)",
                            {.launcher = "plain", .command = {"./a"}, .per_rank = true});
    check_golden("export/slurm/uneven.sh", exported(job).text);
}

TEST_CASE("nodes with different GPUs are no one job of Slurm's") {
    const auto loaded = job_of(two_nodes, {});
    auto spec = loaded.spec;
    spec.hosts[1].gpus.count = 4;
    const auto nodes = placed(spec, {NodeName("a"), NodeName("b")}, 2, std::nullopt);
    REQUIRE(nodes.has_error());
    CHECK(to_text(nodes.error()) ==
          "b: it has 4 GPUs and a has 8: one job of a scheduler asks for the same of each node\n"
          "  use --gpus 4, or choose nodes that are alike with --nodes");
    CHECK(placed(spec, {NodeName("a"), NodeName("b")}, 2, 4).has_value());
}

TEST_CASE("GPUs that nobody has counted are asked for") {
    const auto spec = job_of("image: a\nhosts: [{docker: ssh://a, gpus: none}]\n", {}).spec;
    auto all = spec;
    all.hosts[0].gpus.kind = GpuSpec::Kind::all;
    const auto nodes = placed(all, {NodeName("a")}, 1, std::nullopt);
    REQUIRE(nodes.has_error());
    CHECK(nodes.error().hint == "add --gpus N, or write `gpus: N` for the host");
    all.hosts[0].slots = 4;
    CHECK(placed(all, {NodeName("a")}, 1, std::nullopt)->gpus == 4);
    CHECK(placed(all, {NodeName("a")}, 3, 2)->nodes.size() == 3);
}

TEST_CASE("launchers that start their ranks over ssh are refused, with one node too") {
    for (const auto& line :
         {Line{.launcher = "mpirun"}, Line{.launcher = "horovodrun"},
          Line{.launcher = "deepspeed", .via = "pdsh"}, Line{.launcher = "deepspeed", .via = "openmpi"},
          Line{.launcher = "accelerate", .via = "pdsh"}, Line{.launcher = "mpirun", .via = "mpich"}}) {
        for (const std::size_t nodes : {1U, 2U}) {
            auto job_line = line;
            job_line.nodes = nodes;
            const auto result = export_slurm(job_of(two_nodes, job_line), {});
            REQUIRE(result.has_error());
            CAPTURE(line.launcher);
            CHECK(result.error().message.find("over ssh") != std::string::npos);
            CHECK(result.error().hint.find("--launcher slurm") != std::string::npos);
        }
    }
}

TEST_CASE("a line break in an option of sbatch would be another line of the script") {
    const auto result = export_slurm(job_of(two_nodes, {}), {.sbatch = {"--comment=a\n--hold"}});
    REQUIRE(result.has_error());
    CHECK(to_text(result.error()) == "--sbatch: a line of options cannot contain a line break\n"
                                     "  leave it out: --comment=a\\x0a--hold");
}

TEST_CASE("a node's number among those of its kind is counted, not listed") {
    const auto job = job_of(two_nodes, {.launcher = "tensorflow", .nodes = 4, .roles = {{"chief", 1}}});
    const auto script = exported(job);
    CHECK(script.text.find(R"_("index":'"$((NODE_RANK - 1))"')_") != std::string::npos);
    CHECK(
        export_slurm(job_of(two_nodes, {.launcher = "tensorflow", .nodes = 256, .roles = {{"chief", 1}}}), {})
            .has_value());
}

TEST_CASE("instances of MIG's are no GPUs of a scheduler's, and one list of devices may be all") {
    auto job = job_of("image: a\nhosts: [{docker: ssh://a, gpus: ['0:0', '0:1']}]\n", {});
    CHECK(warns_of(exported(job), "`hosts.gpus`"));
    auto spec = job.spec;
    spec.hosts[0].gpus.devices = {"nvidia.com/gpu=all"};
    CHECK(placed(spec, {NodeName("a")}, 1, std::nullopt).has_error());
    CHECK(placed(spec, {NodeName("a")}, 1, 4)->gpus == 4);
    CHECK_FALSE(placed(spec, {NodeName("a")}, 1, 4)->mig);
    for (const auto* instance : {"MIG-5c3a", "1:0", "nvidia.com/mig=0:1", "nvidia.com/mig-1g.10gb=0"}) {
        spec.hosts[0].gpus.devices = {instance};
        CHECK(placed(spec, {NodeName("a")}, 1, std::nullopt)->mig);
    }
    for (const auto* whole : {"GPU-5c3a", "3", "nvidia.com/gpu=0", "vendor:8000/gpu=1"}) {
        spec.hosts[0].gpus.devices = {whole};
        CHECK_FALSE(placed(spec, {NodeName("a")}, 1, std::nullopt)->mig);
    }
}

TEST_CASE("--env may say where the ranks meet, and gives no value of a secret away") {
    auto job = job_of(two_nodes + "container: {secrets: {HF_TOKEN: }, env: {SLURM_X: '1', a.b: '2'}}\n",
                      {.env = {{"MASTER_ADDR", "head"}, {"HF_TOKEN", "hf_mine"}}});
    const auto script = exported(job);
    CHECK(script.text.find("export MASTER_ADDR=head\n") != std::string::npos);
    CHECK(script.text.find("hf_mine") == std::string::npos);
    CHECK(script.text.find("HF_TOKEN?is a secret") != std::string::npos);
    CHECK(script.text.find("export a.b") == std::string::npos);
    std::string warnings;
    for (const auto& warning : script.warnings) {
        warnings += to_text(warning) + "\n";
    }
    CHECK(warnings == "--env: HF_TOKEN is a secret of the file: its value is not written down\n"
                      "  it is taken from where the job gets its secrets\n"
                      "`container.env`: SLURM_X is left out: the name is the scheduler's own\n"
                      "  give it another name\n"
                      "`container.env`: a.b is left out: a shell cannot set it\n"
                      "  give it another name\n");
}

TEST_CASE("Slurm warns of the end at most so long before") {
    auto job = job_of(two_nodes, {});
    job.timeout = std::chrono::hours(48);
    job.grace = std::chrono::hours(19);
    const auto result = export_slurm(job, {});
    REQUIRE(result.has_error());
    CHECK(result.error().message == "Slurm's warning comes at most 65535 s before the end");
}

TEST_CASE("a part of a node's GPUs is no whole node") {
    const auto script = exported(job_of(two_nodes, {.launcher = "torchrun", .gpus = 2}));
    CHECK(script.text.find("#SBATCH --gpus-per-node=2\n") != std::string::npos);
    CHECK(script.text.find("--exclusive") == std::string::npos);
    CHECK(warns_of(script, "--gpus"));
}

TEST_CASE("enroot's references have a # behind the registry") {
    CHECK(enroot_image("nvcr.io/nvidia/pytorch:24.01-py3") == "nvcr.io#nvidia/pytorch:24.01-py3");
    CHECK(enroot_image("localhost:5000/a/b") == "localhost:5000#a/b");
    CHECK(enroot_image("ubuntu") == "ubuntu");
    for (const auto* own :
         {"nvcr.io#nvidia/pytorch:24.01-py3", "docker://nvcr.io#nvidia/pytorch", "dockerd://mine:1"}) {
        CHECK(enroot_image(own) == own);
    }
    CHECK(enroot_image("pytorch/pytorch:2.6.0") == "pytorch/pytorch:2.6.0");
    CHECK(enroot_image("docker.io/library/ubuntu:24.04") == "ubuntu:24.04");
    CHECK(enroot_image("/shared/train.sqsh") == "/shared/train.sqsh");
}

} // namespace slurm_export_test
