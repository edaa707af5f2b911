#include "shared/launch/launcher_names.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

namespace load_spec_test {

using namespace dockdist;
using namespace dockdist::test;

using Env = std::map<std::string, std::string>;

TEST_CASE("two keys make a cluster, and everything else has its default") {
    const auto spec = load_good("image: a/b:c\nhosts: [ssh://h]\n");
    CHECK(spec.name == ClusterName("vision"));
    CHECK(spec.image == ImageSpec{.ref = ImageRef("a/b:c")});
    CHECK(spec.container == ContainerSpec{});
    CHECK(spec.ssh == SshSpec{});
    CHECK(spec.sync.empty());
    CHECK(spec.launcher.empty());
    CHECK(spec.file == "/home/ada/vision/cluster.yaml");
}

TEST_CASE("an image in long form") {
    const auto image =
        load_good("image: {ref: a, pull: always, platform: linux/arm64}\nhosts: [ssh://h]\n").image;
    CHECK(image == ImageSpec{ImageRef("a"), ImageSpec::Pull::always, "linux/arm64"});
    // As Docker does: the kernel's names of architectures mean the same.
    CHECK(load_good("image: {ref: a, platform: linux/aarch64/v8}\nhosts: [ssh://h]\n").image.platform ==
          "linux/arm64/v8");
    CHECK(load_good("image: {ref: a, platform: linux/x86_64}\nhosts: [ssh://h]\n").image.platform ==
          "linux/amd64");
}

TEST_CASE("an empty section counts as absent") {
    const auto spec = load_good("image: a\nhosts: [ssh://h]\ncontainer:\nssh:\nsync:\n");
    CHECK(spec.container == ContainerSpec{});
}

TEST_CASE("sizes, limits and words of the container") {
    const auto c =
        load_container(
            "  {shm_size: 1.5g, ipc: private, ulimits: {memlock: 512m, nofile: 65536, stack: {soft: 8m, "
            "hard: "
            "unlimited}}, privileged: true, pids_limit: unlimited, entrypoint: image, runtime: nvidia, "
            "workdir: /w, user: \"1000:100\", cap_add: [cap_sys_ptrace, NET_ADMIN], no_new_privileges: "
            "true}\n")
            .container;
    CHECK(c.shm_size == Bytes{3ULL << 29U});
    CHECK(c.ipc == "private");
    CHECK(c.ulimits.at("memlock") == UlimitSpec{512 << 20, 512 << 20});
    CHECK(c.ulimits.at("nofile") == UlimitSpec{65536, 65536});
    CHECK(c.ulimits.at("stack") == UlimitSpec{8 << 20, -1});
    CHECK(c.privileged);
    CHECK(c.pids_limit == -1);
    CHECK(c.entrypoint == ContainerSpec::Entrypoint::image);
    CHECK(c.runtime == "nvidia");
    CHECK(c.workdir == "/w");
    CHECK(c.user == "1000:100");
    CHECK(c.cap_add == std::vector<std::string>{"SYS_PTRACE", "NET_ADMIN"});
    CHECK(c.no_new_privileges == true);
}

TEST_CASE("ipc is the host's where two nodes share a machine, and as the file says where it says it") {
    const auto ipc = [](const std::string& hosts, const std::string& more = "") {
        return load_good("image: a\nhosts: [" + hosts + "]\n" + more).container.ipc;
    };
    CHECK(ipc("ssh://a, ssh://b") == "private");
    CHECK(ipc("{docker: ssh://a, nodes: 2, gpus: none}") == "host");
    CHECK(ipc("{name: x, docker: ssh://a, gpus: none}, {name: y, docker: ssh://a, gpus: none}") == "host");
    CHECK(ipc("{docker: ssh://a, address: 10.0.0.1}, {docker: ssh://b, address: 10.0.0.1}") == "host");
    CHECK(ipc("ssh://a, ssh://b", "container: {ipc: host}\n") == "host");
    CHECK(ipc("{docker: ssh://a, nodes: 2, gpus: none}", "container: {ipc: private}\n") == "private");
}

TEST_CASE("limits that the file does not name keep their defaults") {
    const auto c = load_container("  {ulimits: {nofile: 1024}}\n").container;
    CHECK(c.ulimits.at("memlock") == UlimitSpec{-1, -1, true});
    CHECK(load_container("  {ulimits: {memlock: auto}}\n").container.ulimits == ContainerSpec().ulimits);
    CHECK(load_container("  {ulimits: {memlock: unlimited}}\n").container.ulimits.at("memlock") ==
          UlimitSpec{-1, -1});
}

TEST_CASE("mounts in short and long form") {
    const auto c =
        load_container(
            "  mounts:\n  - /data:/data\n  - /home:/home:ro\n  - cache:/cache\n"
            "  - {source: /a, target: /b, read_only: true}\n  - /etc/hosts.more:/opt/dockdist-x:rw\n")
            .container;
    CHECK(c.mounts == std::vector<MountSpec>{{"/data", "/data", false},
                                             {"/home", "/home", true},
                                             {"cache", "/cache", false},
                                             {"/a", "/b", true},
                                             {"/etc/hosts.more", "/opt/dockdist-x", false}});
}

TEST_CASE("a mount's options as people have them in their lines of docker run") {
    const auto mounts =
        load_container("  mounts:\n  - /a:/a:ro,z\n  - /b:/b:Z,rslave,cached\n  - cc:/c:nocopy,z\n"
                       "  - {source: /d, target: /d, selinux: z, propagation: shared}\n"
                       "  - {source: ee, target: /e, no_copy: true}\n")
            .container.mounts;
    CHECK(mounts == std::vector<MountSpec>{
                        {.source = "/a", .target = "/a", .read_only = true, .selinux = "z"},
                        {.source = "/b", .target = "/b", .selinux = "Z", .propagation = "rslave"},
                        {.source = "cc", .target = "/c", .no_copy = true}, // a volume's label is right anyway
                        {.source = "/d", .target = "/d", .selinux = "z", .propagation = "shared"},
                        {.source = "ee", .target = "/e", .no_copy = true}});
}

TEST_CASE("devices: auto, none, a list") {
    CHECK(load_container("  {devices: auto}\n").container.devices_auto);
    CHECK_FALSE(load_container("  {devices: none}\n").container.devices_auto);
    const auto listed = load_container("  {devices: [/dev/infiniband, /dev/fuse]}\n").container;
    CHECK_FALSE(listed.devices_auto);
    CHECK(listed.devices == std::vector<std::string>{"/dev/infiniband", "/dev/fuse"});
}

TEST_CASE("env as a map and as a list says the same") {
    const Env expected{{"A", "1"}, {"B", "x=y"}, {"HOME_NOW", "/h"}, {"D", ""}};
    const Env outside{{"HOME_NOW", "/h"}};
    CHECK(load_container("  env: {A: 1, B: x=y, HOME_NOW: , D: \"\"}\n", outside).container.env == expected);
    CHECK(load_container("  env: [A=1, B=x=y, HOME_NOW, D=]\n", outside).container.env == expected);
}

TEST_CASE("values of env are the text of the file, never a YAML type") {
    const auto env =
        load_container(
            "  env:\n    A: no\n    B: 0755\n    C: 2222:22\n    D: 1e3\n    E: 3.10\n    F: 2026-01-01\n"
            "    G: True\n    H: \"a\\nb\\\"c'\"\n    I: $(touch /pwn)\n    J: 'null'\n")
            .container.env;
    CHECK(env == Env{{"A", "no"},
                     {"B", "0755"},
                     {"C", "2222:22"},
                     {"D", "1e3"},
                     {"E", "3.10"},
                     {"F", "2026-01-01"},
                     {"G", "True"},
                     {"H", "a\nb\"c'"},
                     {"I", "$(touch /pwn)"},
                     {"J", "null"}});
}

TEST_CASE("a variable that is taken from an environment without it is left out, with a warning") {
    const auto loaded = load("image: a\nhosts: [ssh://h]\ncontainer: {env: [WANDB_MODE]}\n");
    CHECK(loaded.errors.empty());
    REQUIRE(loaded.warnings.size() == 1);
    CHECK(loaded.warnings[0].where == "/home/ada/vision/cluster.yaml:3:19");
    CHECK(loaded.spec.container.env.empty());
}

TEST_CASE("what looks like a secret in env is warned of, and what only sounds like one is not") {
    const auto warnings = [](const std::string& name) {
        return load("image: a\nhosts: [ssh://h]\ncontainer: {env: {" + name + ": x}}\n").warnings.size();
    };
    CHECK(warnings("HF_TOKEN") == 1);
    CHECK(warnings("WANDB_API_KEY") == 1);
    CHECK(warnings("TOKENIZERS_PARALLELISM") == 0);
    CHECK(warnings("NCCL_DEBUG") == 0);
}

TEST_CASE("secrets come from the environment, a variable or a file") {
    const auto folder =
        std::filesystem::temp_directory_path() / ("dockdist-secret-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "token") << "from file\n";
    const auto loaded = load_spec(
        "image: a\nhosts: [ssh://h]\ncontainer: {secrets: {A: , B: \"${OTHER}\", C: {file: token}}}\n",
        folder / "cluster.yaml", environment({{"A", "from env"}, {"OTHER", "other"}}));
    std::filesystem::remove_all(folder);
    CHECK_MESSAGE(loaded.errors.empty(), all_text(loaded.errors));
    CHECK(loaded.spec.container.secrets ==
          std::vector<SecretSpec>{{"A", "from env"}, {"B", "other"}, {"C", "from file"}});
}

TEST_CASE("no secret is waited for, and none is larger than a variable") {
    const auto error = [](const std::string& file) {
        return load_spec("image: a\nhosts: [ssh://h]\ncontainer: {secrets: {A: {file: " + file + "}}}\n",
                         "cluster.yaml", environment())
            .errors.at(0)
            .message;
    };
    const auto file = std::filesystem::temp_directory_path() / ("secret-" + std::to_string(::getpid()));
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
    const auto place = "`container.secrets.A.file`: ";
    CHECK(error(file) ==
          place + ("the file `" + file.string() + "` cannot be read: it is a pipe, not a file"));
    std::filesystem::remove(file);
    std::ofstream(file) << std::string((64U << 10U) + 1, 'a');
    CHECK(error(file) ==
          place + ("`" + file.string() + "` is larger than the 65536 bytes that a secret may have"));
    std::filesystem::remove(file);
}

TEST_CASE("a command that starts nothing needs no secrets") {
    const std::string text =
        "image: a\nhosts: [ssh://h]\ncontainer: {secrets: {A: , B: \"${OTHER}\", C: {file: /nowhere}}}\n";
    CHECK(load(text).errors.size() == 3);
    const auto loaded = load_spec(text, "cluster.yaml", environment(), {.resolve_secrets = false});
    CHECK(loaded.errors.empty());
    CHECK(loaded.spec.container.secrets == std::vector<SecretSpec>{{"A", ""}, {"B", ""}, {"C", ""}});
}

TEST_CASE("variables are replaced in any value, after the YAML is read") {
    const auto spec = load_good(
        "image: ${REGISTRY:-docker.io/}pytorch/pytorch:${TAG}\nhosts: [\"ssh://${WHO}@h\"]\n"
        "container: {privileged: \"${PRIV:-false}\", env: {A: \"${EVIL}\"}}\nssh: {port: \"${P}\"}\n",
        {{"TAG", "2.6"}, {"WHO", "ops"}, {"P", "2300"}, {"EVIL", "x\nprivileged: true"}});
    CHECK(spec.image.ref == ImageRef("docker.io/pytorch/pytorch:2.6"));
    CHECK(spec.hosts[0].docker.user == "ops");
    CHECK(spec.ssh.port == Port{2300});
    CHECK(spec.container.env.at("A") == "x\nprivileged: true");
    CHECK_FALSE(spec.container.privileged);
}

TEST_CASE("sync has a long form, and collect takes paths of the containers") {
    const auto spec = load_good(
        "image: a\nhosts: [ssh://h]\nsync: [{from: src, to: /w, delete: true, exclude: ['*.log', a/]}]\n"
        "collect: [/w/out, /logs]\n");
    REQUIRE(spec.sync.size() == 1);
    CHECK(spec.sync[0] ==
          SyncSpec{
              .source = "/home/ada/vision/src", .target = "/w", .remove = true, .exclude = {"*.log", "a/"}});
    CHECK(spec.collect == std::vector<std::string>{"/w/out", "/logs"});
}

TEST_CASE("setup takes commands, in short and at length") {
    const auto spec =
        load_good("image: a\nhosts: [ssh://h]\ncontainer: {user: ada}\nsetup:\n  - pip install -e /w\n"
                  "  - {run: apt-get install -y git, user: root, target: /shared/lib}\n  - |\n    one "
                  "$$HOME\n    two\n");
    CHECK(spec.setup == std::vector<SetupSpec>{
                            {.run = "pip install -e /w"},
                            {.run = "apt-get install -y git", .user = "", .target = "/shared/lib"},
                            {.run = "one $HOME\ntwo\n"},
                        });
}

TEST_CASE("data comes from a host or from here, and goes to a folder or volume of the hosts") {
    const auto spec =
        load_good("image: a\nhosts: [{name: a, docker: ssh://h}]\ndata:\n  - {from: 'a:/data/llama', to: "
                  "/data/llama, delete: true}\n"
                  "  - {from: ./models, to: models, exclude: ['*.tmp']}\n  - {from: '~/x:y', to: /x}\n",
                  {{"HOME", "/home/ops"}});
    REQUIRE(spec.data.size() == 3);
    CHECK(spec.data[0] ==
          DataSpec{.host = "a", .source = "/data/llama", .target = "/data/llama", .remove = true});
    CHECK(spec.data[1].host.empty());
    CHECK(std::filesystem::path(spec.data[1].source).lexically_normal() == "/home/ada/vision/models");
    CHECK(spec.data[1].target == "models");
    CHECK(spec.data[1].exclude == std::vector<std::string>{"*.tmp"});
    CHECK(spec.data[2].source == "/home/ops/x:y");
}

TEST_CASE("sync takes folders from beside the file, from home, and absolute ones") {
    const auto spec = load_good(
        "image: a\nhosts: [ssh://h]\nsync: [\".:/w\", \"~/lib:/lib2\", \"/abs/x:/y\", \"../up:/up\"]\n",
        {{"HOME", "/home/ops"}});
    const auto source = [&](std::size_t i) {
        return std::filesystem::path(spec.sync.at(i).source).lexically_normal();
    };
    CHECK(spec.sync.at(0) == SyncSpec{"/home/ada/vision/", "/w"});
    CHECK(source(1) == "/home/ops/lib");
    CHECK(source(2) == "/abs/x");
    CHECK(source(3) == "/home/ada/up");
}

TEST_CASE("anchors, merge keys and x- keys work") {
    const auto spec =
        load_good("x-common: &common {gpus: none, slots: 4}\nimage: a\nhosts:\n"
                  "  - {<<: *common, docker: ssh://h}\n  - {<<: *common, docker: ssh://i, slots: 2}\n");
    CHECK(spec.hosts[0].slots == 4);
    CHECK(spec.hosts[1].slots == 2);
    CHECK(spec.hosts[1].gpus.kind == GpuSpec::Kind::none);
}

TEST_CASE("a mistake that an alias repeats is told once") {
    const auto loaded = load("x-m: &m {A: [1]}\nimage: a\nhosts:\n  - {docker: ssh://h, env: *m}\n  - "
                             "{docker: ssh://i, env: *m}\n");
    CHECK(loaded.errors.size() == 2); // one for each key path
    CHECK(loaded.errors[0].where == loaded.errors[1].where);
}

TEST_CASE("after a hundred mistakes the rest is counted") {
    std::string text = "image: a\nhosts: [ssh://h]\ncontainer:\n";
    for (int i = 0; i < 150; ++i) {
        text += "  q" + std::to_string(i) + ": 1\n";
    }
    const auto errors = load(text).errors;
    REQUIRE(errors.size() == 101);
    CHECK(errors.back().message == "50 more mistakes follow");
}

TEST_CASE("a byte order mark and Windows line ends are taken") {
    CHECK(load_good("\xEF\xBB\xBFimage: a\r\nhosts:\r\n  - ssh://h\r\n").hosts.size() == 1);
}

TEST_CASE("mounts of the engine's socket, / and /etc are warned of, and the time zone is not") {
    const auto loaded =
        load("image: a\nhosts: [ssh://h]\ncontainer: {mounts: [\"/var/run/docker.sock:/s\", \"/:/host\", "
             "\"/etc/:/e:ro\", \"/etc/localtime:/etc/localtime:ro\"]}\n");
    CHECK(loaded.errors.empty());
    CHECK(loaded.warnings.size() == 3);
}

TEST_CASE("a file may name every launcher") {
    for (const auto name : launcher_names) {
        const auto spec =
            load_good("image: a\nlauncher: " + std::string(name) + "\nhosts: [{name: x, docker: ssh://h}]\n");
        CHECK(spec.launcher == name);
    }
    CHECK(std::ranges::is_sorted(launcher_names));
}

TEST_CASE("image.build is a folder or its long form; the first host builds unless `from` says otherwise") {
    const auto folder = [](const ClusterSpec& spec) {
        return std::filesystem::path(spec.image.build->context).lexically_normal();
    };
    const auto spec = load_good("image: {ref: a, build: docker}\nhosts: [{name: x, docker: ssh://h}]\n");
    CHECK(folder(spec) == "/home/ada/vision/docker");
    CHECK(spec.image.build->dockerfile == "Dockerfile");
    CHECK(spec.image.from == "x");
    const auto full =
        load_good("image: {ref: a, from: local, build: {context: /c, dockerfile: d/./F, target: t, "
                  "args: {A: \"1\"}}}\nhosts: [ssh://h]\n");
    CHECK(*full.image.build ==
          BuildSpec{.context = "/c", .dockerfile = "d/F", .target = "t", .args = {{"A", "1"}}});
    CHECK(full.image.from == "local");
}

TEST_CASE("secrets of a build are looked up for commands that may build alone; its arguments are none") {
    const std::string text =
        "image: {ref: a, build: {context: ., args: {API_TOKEN: x}, secrets: {A: , B: \"${OTHER}\", "
        "C: {file: /nowhere}}}}\nhosts: [ssh://h]\n";
    const auto left = load_spec(text, "cluster.yaml", environment());
    CHECK_MESSAGE(left.errors.empty(), all_text(left.errors));
    CHECK(left.spec.image.build->secrets == std::vector<SecretSpec>{{"A", ""}, {"B", ""}, {"C", ""}});
    REQUIRE(left.warnings.size() == 1);
    CHECK(left.warnings[0].hint == "move it to `image.build.secrets`");
    const auto lacking = load_spec(text, "cluster.yaml", environment(), {.resolve_build_secrets = true});
    CHECK_MESSAGE(lacking.errors.empty(), all_text(lacking.errors)); // it may be that nothing is built
    REQUIRE(lacking.spec.image.build->missing.size() == 3);
    CHECK(lacking.spec.image.build->missing[0].message ==
          "`image.build.secrets.A`: the variable `A` is not set in your environment");
    CHECK(lacking.spec.image.build->missing[0].where.starts_with("cluster.yaml:1:"));
    const auto found =
        load_spec(text.substr(0, text.find(", C:")) + "}}}\nhosts: [ssh://h]\n", "cluster.yaml",
                  environment({{"A", "from env"}, {"OTHER", "other"}}), {.resolve_build_secrets = true});
    CHECK_MESSAGE(found.errors.empty(), all_text(found.errors));
    CHECK(found.spec.image.build->secrets == std::vector<SecretSpec>{{"A", "from env"}, {"B", "other"}});
    CHECK(found.spec.image.build->missing.empty());
}

TEST_CASE("a build's secret has an id, and a file's bytes as they are; a container's has neither") {
    const auto path =
        (std::filesystem::temp_directory_path() / ("dockdist-build-secret-" + std::to_string(::getpid())))
            .string();
    const std::string content("\0key\r\n\n", 7);
    const auto load = [&](const std::string& secrets) {
        return load_spec("image: {ref: a, build: {context: ., secrets: " + secrets + "}}\nhosts: [ssh://h]\n",
                         "cluster.yaml", environment({{"TOKEN", "t"}}), {.resolve_build_secrets = true});
    };
    std::ofstream(path, std::ios::binary) << content;
    const auto good = load("{hf-token: \"${TOKEN}\", 1.key: {file: " + path + "}}");
    CHECK_MESSAGE(good.errors.empty(), all_text(good.errors));
    CHECK(good.spec.image.build->secrets == std::vector<SecretSpec>{{"hf-token", "t"}, {"1.key", content}});
    CHECK(good.spec.image.build->missing.empty());
    std::ofstream(path, std::ios::binary) << std::string(500 * 1024, 'x');
    CHECK(load("{A: {file: " + path + "}}").spec.image.build->secrets[0].value.size() == 500 * 1024);
    std::ofstream(path, std::ios::binary | std::ios::app) << 'x';
    const auto large = load("{A: {file: " + path + "}}").spec.image.build->missing;
    REQUIRE(large.size() == 1);
    CHECK(large[0].message.find("larger than the 512000 bytes") != std::string::npos);
    std::filesystem::remove(path);
    for (const std::string id : {"hf-token", "\"\"", "../up", "-a", "a/b"}) { // the first has no value
        CAPTURE(id);
        CHECK(load("{" + id + ": }").errors.size() == 1);
    }
    CHECK(load_spec("image: a\nhosts: [ssh://h]\ncontainer: {secrets: {hf-token: x}}\n", "cluster.yaml",
                    environment())
              .errors.size() == 1);
}

} // namespace load_spec_test
