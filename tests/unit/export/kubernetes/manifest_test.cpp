#include "client/export/kubernetes/manifest.hpp"
#include "golden.hpp"
#include "unit/export/support.hpp"

#include <doctest/doctest.h>

namespace manifest_test {

using namespace dockdist;

namespace {

using Words = std::vector<std::string>;

struct Wanted {
    std::string file{}; // cluster.yaml's
    std::string launcher = "torchrun";
    Words command{"train.py", "--epochs", "3"};
    std::string name = "train";
    std::size_t nodes = 2;
    std::optional<int> gpus{};
    bool per_rank = false;
    std::map<std::string, std::string> env{};
};

ExportJob job_of(const Wanted& wanted) {
    return test::job_of(wanted.file, {.launcher = wanted.launcher,
                                      .command = wanted.command,
                                      .name = wanted.name,
                                      .nodes = wanted.nodes,
                                      .gpus = wanted.gpus,
                                      .per_rank = wanted.per_rank,
                                      .env = wanted.env});
}

const std::string two_hosts = R"(image: nvcr.io/nvidia/pytorch:24.01-py3
hosts:
  - {docker: "ssh://ops@10.0.0.1", gpus: 8}
  - {docker: "ssh://ops@10.0.0.2", gpus: 8}
)";

std::string text_of(const Manifest& manifest, const KubernetesOptions& options) {
    auto text = to_yaml_text(manifest, options);
    for (const auto& warning : manifest.warnings) {
        text += "# " + warning.where + ": " + warning.message + "\n" +
                (warning.hint.empty() ? "" : "#   " + warning.hint + "\n");
    }
    return text;
}

void golden(const std::string& name, const ExportJob& job, const KubernetesOptions& options = {}) {
    const auto manifest = make_manifest(job, options);
    REQUIRE_MESSAGE(manifest.has_value(), to_text(manifest.error()));
    check_golden("export/kubernetes/" + name + ".yaml", text_of(*manifest, options));
}

TEST_CASE("manifest: each launcher, as it says itself") {
    for (const auto* launcher :
         {"torchrun", "torch.distributed.launch", "deepspeed", "accelerate", "ray", "jax", "slurm"}) {
        golden(launcher, job_of({.file = two_hosts, .launcher = launcher}));
    }
}

TEST_CASE("manifest: any command, once a node or once a slot") {
    const Words command{"sh", "-c", "echo \"$(hostname) $$ it's\" $RANK\n", "no", "1e3", ""};
    const std::string cpus = "image: busybox:1.37\nhosts: [{docker: \"ssh://a\", gpus: none, slots: 2}]\n";
    golden("plain", job_of({.file = cpus, .launcher = "plain", .command = command}));
    golden("plain-per-rank",
           job_of({.file = cpus, .launcher = "plain", .command = command, .per_rank = true}));
    golden("one-node", job_of({.file = cpus, .launcher = "plain", .command = {"true"}, .nodes = 1}));
}

const std::string everything =
    R"yaml(image: {ref: registry.example.com/team/train:7, pull: always, platform: linux/arm64}
hosts: [{docker: "ssh://a", gpus: 8, interface: bond0}]
container:
  shm_size: 96g
  ulimits: {memlock: unlimited, stack: 64m, nofile: 1048576}
  mounts: [/data:/data:ro, "/etc/nccl.conf:/etc/nccl.conf:ro", "sets_v1:/sets", "/scratch:/scratch:rslave", "/tools:/tools:z"]
  env: {NO: "no", RATE: "1e3", GREETING: "$$(hostname)"}
  secrets: {HF_TOKEN: , WANDB_API_KEY: }
  user: 1000:1000
  workdir: /workspace
  cap_add: [SYS_PTRACE]
  devices: [/dev/infiniband, /dev/fuse]
  no_new_privileges: true
  pids_limit: 4096
  runtime: nvidia
network: {rdma: required, subnet: 10.1.0.0/16}
sync: [".:/workspace"]
ssh: {port: 2222}
)yaml";

TEST_CASE("manifest: all that the file and the options can say") {
    auto job = job_of({.file = everything, .nodes = 16});
    job.timeout = std::chrono::hours(8);
    job.grace = std::chrono::milliseconds(1500);
    job.max_restarts = 3;
    job.given = {"--timeout", "--stall", "--priority"};
    golden("all", job,
           {.name_space = "ml",
            .image_pull_secret = "registry",
            .labels = {{"kueue.x-k8s.io/queue-name", "training"}},
            .node_selector = {{"nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"}},
            .tolerations = {{.key = "dedicated", .value = "training", .effect = "NoSchedule"}},
            .rdma = {{.name = "rdma/hca_shared_devices_a"}}});
}

TEST_CASE("manifest: a TrainJob and the runtime that it refers to") {
    auto job = job_of({.file = two_hosts});
    job.timeout = std::chrono::minutes(90);
    job.max_restarts = 1;
    golden("trainjob", job, {.kind = KubernetesOptions::Kind::trainjob, .labels = {{"team", "vision"}}});
}

TEST_CASE("manifest: the machines' IPC, the pods' network, AMD's GPUs") {
    golden("host-ipc",
           job_of({.file = "image: rocm/pytorch:latest\nhosts: [{docker: \"ssh://a\", gpus: amd}]\n"
                           "container: {ipc: host, privileged: true, user: trainer}\nnetwork: {rdma: off}\n",
                   .gpus = 4}),
           {.runtime_class = "rocm", .pod_network = true});
}

TEST_CASE("manifest: names that Kubernetes does not take") {
    golden("names", job_of({.file = two_hosts, .name = "GPT_2.large"}));
    const auto refused = make_manifest(job_of({.file = two_hosts, .name = "2b"}), {});
    REQUIRE(refused.has_error());
    CHECK(refused.error().message ==
          "`2b` cannot be the name of a JobSet: such names begin with a letter of a to z");
}

TEST_CASE("manifest: what has no way there is an error") {
    const auto required = make_manifest(job_of({.file = two_hosts + "network: {rdma: required}\n"}), {});
    REQUIRE(required.has_error());
    CHECK(required.error().where == "`network.rdma`");
    CHECK(required.error().hint.find("--rdma-resource") != std::string::npos);
    const auto ssh = make_manifest(job_of({.file = two_hosts, .launcher = "mpirun"}), {});
    REQUIRE(ssh.has_error());
    CHECK(ssh.error().where == "--launcher");
    const auto bytes = make_manifest(job_of({.file = two_hosts, .command = {"echo", "\xFF"}}), {});
    REQUIRE(bytes.has_error());
    CHECK(bytes.error().message.find("not UTF-8") != std::string::npos);
}

TEST_CASE("manifest: what an API server refuses of mounts and variables is left out by name") {
    golden("refused-elsewhere", job_of({.file = R"(image: a
hosts: [{docker: "ssh://a", gpus: 8, nodes: 2}]
container:
  mounts:
    - "/data/../data//sets:/sets/"
    - "/a:/a:rshared"
    - "/dev/shm:/dev/shm/"
    - {source: /b, target: "/b:1"}
    - "My_Data:/one"
    - "my-data:/two"
  env: {POD_IP: "1", JOB_TOKEN: "2", a.b: "3", LR: "4"}
  secrets: {HF_TOKEN: , WANDB_API_KEY: }
)",
                                        .env = {{"HF_TOKEN", "hf_mine"}, {"c-d", "5"}}}));
}

TEST_CASE("manifest: what is mounted later is seen, and sent by privileged containers alone") {
    const auto mounted = [](const std::string& kind, bool privileged) {
        const auto job = job_of(
            {.file = "image: a\nhosts: [{docker: \"ssh://a\", gpus: 8}]\ncontainer: {privileged: " +
                     std::string(privileged ? "true" : "false") + ", mounts: [\"/a:/a:" + kind + "\"]}\n"});
        const auto text = text_of(make_manifest(job, {}).value(), {});
        const auto at = text.find("mountPropagation: ");
        return at == std::string::npos ? "" : text.substr(at + 18, text.find('\n', at) - at - 18);
    };
    for (const auto* kind : {"slave", "rslave"}) {
        CHECK(mounted(kind, false) == "HostToContainer");
        CHECK(mounted(kind, true) == "HostToContainer");
    }
    for (const auto* kind : {"shared", "rshared"}) {
        CHECK(mounted(kind, false).empty());
        CHECK(mounted(kind, true) == "Bidirectional");
    }
    CHECK(mounted("private", true).empty());
}

TEST_CASE("manifest: an image by its id, and a script too long for a command line") {
    const std::string id = "image: sha256:" + std::string(64, 'a') + "\n";
    const auto image = make_manifest(job_of({.file = id + "hosts: [{docker: \"ssh://a\", gpus: 8}]\n"}), {});
    REQUIRE(image.has_error());
    CHECK(image.error().where == "`image`");
    const auto script =
        make_manifest(job_of({.file = two_hosts, .command = {"echo", std::string(128UL << 10U, 'a')}}), {});
    REQUIRE(script.has_error());
    CHECK(script.error().message ==
          "what each of 2 nodes runs would be a script of more than 128 KiB, too long "
          "for a command line");
    for (const auto* launcher : {"slurm", "jax"}) {
        CHECK(make_manifest(job_of({.file = two_hosts, .launcher = launcher, .nodes = 256}), {}).has_value());
    }
}

TEST_CASE("manifest: what the user's words are called like is not meant by them") {
    const auto manifest =
        make_manifest(job_of({.file = two_hosts, .command = {"sh", "-c", "echo $JOB_TOKEN $NODE_ADDR"}}), {});
    REQUIRE(manifest.has_value());
    CHECK(manifest->secret_keys.empty());
}

TEST_CASE("manifest: a list has the same objects") {
    const auto manifest =
        make_manifest(job_of({.file = two_hosts}), {.kind = KubernetesOptions::Kind::trainjob});
    REQUIRE(manifest.has_value());
    const auto list = to_list(*manifest);
    CHECK(list.at("kind") == "List");
    CHECK(list.at("items").size() == 2);
    CHECK(list.at("items")[1].at("kind") == "TrainJob");
}

} // namespace
} // namespace manifest_test
