#include "client/spec/load_spec.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

namespace slurm_allocation_test {

using namespace dockdist;
using Format = HostSource::Format;

namespace {

// What scontrol of Slurm 22.05 has printed.
std::string recorded(const std::string& name) {
    std::ifstream file(std::string(DOCKDIST_SOURCE_DIR "/tests/unit/spec/recorded/slurm-22.05-") + name +
                       ".txt");
    std::string text{std::istreambuf_iterator<char>(file), {}};
    REQUIRE_FALSE(text.empty());
    return text;
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

std::string gpus_text(const std::optional<GpuSpec>& gpus) {
    if (!gpus) {
        return "?";
    }
    std::string text = gpus->kind == GpuSpec::Kind::none ? "none" : "";
    for (const auto& device : gpus->devices) {
        text += (text.empty() ? "" : ",") + device;
    }
    return gpus->kind == GpuSpec::Kind::count ? "any " + std::to_string(gpus->count) : text;
}

std::string hosts_text(const std::string& text) {
    const auto inventory = parse_inventory({.text = text}, Format::slurm, "");
    REQUIRE_MESSAGE(inventory.has_value(), inventory.error().message);
    std::string all = inventory->slurm_job + ":";
    for (const auto& host : inventory->hosts) {
        all += " " + host.name + (host.address.empty() ? "" : "=" + host.address) + "@" + host.peers + " " +
               gpus_text(host.gpus) + (host.slots ? "/" + std::to_string(*host.slots) : "");
    }
    return all;
}

std::string refusal(const std::string& text) {
    const auto inventory = parse_inventory({.text = text}, Format::slurm, "");
    REQUIRE(inventory.has_error());
    CHECK(inventory.error().kind == ErrorKind::config);
    CHECK_FALSE(inventory.error().hint.empty());
    return inventory.error().message;
}

} // namespace

TEST_CASE("an allocation's nodes have their addresses, and the GPUs that are the job's") {
    CHECK(hosts_text(recorded("gpus")) == "1: node-0@10.78.0.1 0,1 node-1@10.78.0.2 0");
    CHECK(hosts_text(changed(recorded("gpus"), "gpu:2(IDX:0-1)", "gpu:h100:3(IDX:0-1,7),shard:2")) ==
          "1: node-0@10.78.0.1 0,1,7 node-1@10.78.0.2 0");
    CHECK(hosts_text(changed(recorded("gpus"), "gpu:2(IDX:0-1)", "gpu:a:1(IDX:4),gpu:b:1(IDX:2)")) ==
          "1: node-0@10.78.0.1 4,2 node-1@10.78.0.2 0");
}

TEST_CASE("of an array's tasks, which share its id, the one that has it counts") {
    const auto one = recorded("gpus");
    const auto job = one.substr(0, one.find("NodeName="));
    auto task =
        changed(changed(job, "JobId=1 ", "JobId=9 ArrayJobId=1 "), "gpu:2(IDX:0-1)", "gpu:2(IDX:4-5)");
    const auto base = changed(one, "JobId=1 ", "JobId=1 ArrayJobId=1 ");
    const auto* const wanted = "1: node-0@10.78.0.1 0,1 node-1@10.78.0.2 0";
    CHECK(hosts_text(task + base) == wanted);
    CHECK(hosts_text(changed(base, "NodeName=", task + "NodeName=")) == wanted);
}

TEST_CASE("GPUs of which Slurm tells no place are taken by their number") {
    CHECK(hosts_text(changed(recorded("gpus"), "gpu:2(IDX:0-1)", "gpu:2")) ==
          "1: node-0@10.78.0.1 any 2 node-1@10.78.0.2 0");
    CHECK(hosts_text(changed(recorded("gpus"), "gpu:2(IDX:0-1)", "gpu:2(IDX:N/A)")) ==
          "1: node-0@10.78.0.1 any 2 node-1@10.78.0.2 0");
}

TEST_CASE("a job without GPUs has none of a node's, and its tasks are slots") {
    CHECK(hosts_text(recorded("tasks")) == "2: node-0@10.78.0.1 none/2 node-1@10.78.0.2 none/2");
}

TEST_CASE("GPUs that Slurm does not manage are there for whoever has the node") {
    auto text = recorded("tasks");
    for (int i = 0; i < 2; ++i) {
        text = changed(text, "   Gres=gpu:2\n", "   Gres=(null)\n");
    }
    CHECK(hosts_text(text) == "2: node-0@10.78.0.1 ?/2 node-1@10.78.0.2 ?/2");
    CHECK(hosts_text(changed(changed(text, "NtasksPerN:B:S:C=2", "NtasksPerN:B:S:C=0"), "NumTasks=4",
                             "NumTasks=2")) == "2: node-0@10.78.0.1 ? node-1@10.78.0.2 ?");
}

TEST_CASE("a node is reached by its host name, where that is another than Slurm's") {
    CHECK(hosts_text(changed(recorded("gpus"), "NodeHostName=node-0", "NodeHostName=rack1-7.lab")) ==
          "1: node-0=rack1-7.lab@10.78.0.1 0,1 node-1@10.78.0.2 0");
    CHECK(hosts_text(changed(recorded("gpus"), "NodeAddr=10.78.0.1", "NodeAddr=node-0")) ==
          "1: node-0@ 0,1 node-1@10.78.0.2 0");
}

TEST_CASE("what is no allocation of one component that runs is refused, with its state") {
    CHECK(refusal(recorded("heterogeneous")) == "Slurm's job 3 is heterogeneous: it has several components");
    CHECK(refusal(recorded("held")) == "Slurm's job 5 has no nodes yet: PENDING (JobHeldUser)");
    CHECK(refusal(recorded("failed")) == "Slurm's job 6 is over: FAILED");
    CHECK(refusal(changed(recorded("gpus"), "NodeName=node-1", "NodeName=node-7")) ==
          "Slurm says nothing about its node node-1");
}

TEST_CASE("what is not Slurm's is refused, not read") {
    for (const std::string text : {"", "slurm_load_jobs error: Invalid job id specified\n", "NodeName=a\n"}) {
        CHECK(parse_inventory({.text = text}, Format::slurm, "").has_error());
    }
    for (const std::string odd : {"gpu:x(IDX:0)", "gpu:2(IDX:a-b)", "gpu:2(IDX:0-999999)", "gpu:-1"}) {
        CAPTURE(odd);
        CHECK(parse_inventory({.text = changed(recorded("gpus"), "gpu:2(IDX:0-1)", odd)}, Format::slurm, "")
                  .has_error());
    }
}

namespace {

LoadedSpec load(const std::string& text, LoadOptions options = {}) {
    HostSource source{.format = Format::slurm};
    options.host_lists.emplace(source, ListText{.text = recorded("gpus")});
    return load_spec(text, "/p/train/cluster.yaml", [](const std::string&) { return std::nullopt; }, options);
}

} // namespace

TEST_CASE("`hosts: slurm` are the allocation's nodes, in a cluster of its own") {
    const auto loaded = load("image: busybox\nhosts: slurm\n");
    REQUIRE(loaded.errors.empty());
    const auto& spec = loaded.spec;
    CHECK(spec.name.str() == "train-1");
    CHECK(spec.slurm_job == "1");
    REQUIRE(spec.hosts.size() == 2);
    CHECK(spec.hosts[0].name.str() == "node-0");
    CHECK(spec.hosts[0].docker.url == "ssh://node-0");
    CHECK(spec.hosts[0].address == "10.78.0.1");
    CHECK(spec.hosts[0].gpus.devices == std::vector<std::string>{"0", "1"});
    CHECK(spec.hosts[1].gpus.devices == std::vector<std::string>{"0"});
}

TEST_CASE("an item of `hosts` that is from Slurm takes other keys, which win") {
    const auto loaded =
        load("image: busybox\nname: night\nhosts:\n"
             "  - {from: slurm, docker: 'ssh://ops@%h.lab', gpus: none, slots: 3, address: '%h-ib'}\n");
    REQUIRE(loaded.errors.empty());
    const auto& host = loaded.spec.hosts.at(0);
    CHECK(loaded.spec.name.str() == "night-1");
    CHECK(host.docker.url == "ssh://ops@node-0.lab");
    CHECK(host.gpus.kind == GpuSpec::Kind::none);
    CHECK(host.slots == 3);
    CHECK(host.address == "node-0-ib");
}

TEST_CASE("the networks of the file say where nodes meet, not Slurm's address") {
    const auto loaded = load("image: busybox\nhosts: slurm\nnetwork: {subnet: 10.1.0.0/16}\n");
    REQUIRE(loaded.errors.empty());
    CHECK(loaded.spec.hosts.at(0).address.empty());
    CHECK(loaded.spec.hosts.at(0).subnets == std::vector<std::string>{"10.1.0.0/16"});
}

TEST_CASE("--hosts stands in place of the file's") {
    const std::string text = "image: busybox\nhosts: [ssh://a, ssh://b]\n";
    CHECK(load(text, {.hosts = "slurm"}).spec.hosts.size() == 2);
    CHECK(load(text, {.hosts = "ssh://c"}).spec.hosts.at(0).docker.url == "ssh://c");
    CHECK(load(text, {.hosts = "[ssh://c, ssh://d]"}).spec.hosts.at(1).docker.url == "ssh://d");
    CHECK(load(text, {.hosts = "{from: slurm, docker: 'ssh://x@%h'}"}).spec.hosts.at(0).docker.url ==
          "ssh://x@node-0");
    CHECK(load("image: busybox\n", {.hosts = "slurm"}).spec.hosts.size() == 2);
}

TEST_CASE("what is wrong with --hosts has its place there") {
    const auto loaded = load("image: busybox\nhosts: [ssh://a]\n", {.hosts = "[ssh://c, nonsense://d]"});
    REQUIRE(loaded.errors.size() == 1);
    CHECK(loaded.errors[0].where == "--hosts");
    CHECK(load("image: busybox\nhosts: [ssh://a]\n", {.hosts = "["}).errors.at(0).where == "--hosts");
}

TEST_CASE("a long name gives way to the allocation's id") {
    const auto loaded = load("image: busybox\nname: " + std::string(63, 'a') + "\nhosts: slurm\n");
    REQUIRE(loaded.errors.empty());
    CHECK(loaded.spec.name.str() == std::string(61, 'a') + "-1");
}

} // namespace slurm_allocation_test
