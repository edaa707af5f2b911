#include "shared/core/host_list.hpp"
#include "unit/spec/support.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace many_hosts_test {

using namespace dockdist;
using namespace dockdist::test;

namespace {

using Lists = HostLists;

LoadedSpec load_with(const std::string& hosts, const Lists& lists) {
    return load_spec("image: a\nhosts:\n" + hosts, "/home/ada/vision/cluster.yaml", environment(),
                     {.host_lists = lists});
}

LoadedSpec load_list(const std::string& hosts, const HostSource& source, const std::string& text) {
    return load_with(hosts, {{source, Result<ListText>({.text = text})}});
}

HostSource file(const std::string& path, HostSource::Format format = HostSource::Format::hosts) {
    return {.file = path, .format = format};
}

std::vector<std::string> urls(const ClusterSpec& spec) {
    std::vector<std::string> texts;
    std::ranges::transform(spec.hosts, std::back_inserter(texts),
                           [](const auto& host) { return host.docker.url; });
    return texts;
}

std::string names(const ClusterSpec& spec) {
    std::vector<std::string> texts;
    std::ranges::transform(spec.hosts, std::back_inserter(texts),
                           [](const auto& host) { return host.name.str(); });
    return host_list(texts);
}

std::string first_error(const LoadedSpec& loaded) {
    REQUIRE_FALSE(loaded.errors.empty());
    return loaded.errors.front().message;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("a range is as many hosts, named after their machines, with the item's other keys") {
    const auto spec =
        load_good("image: a\nhosts:\n  - ssh://ops@gpu[001-128]\n"
                  "  - {docker: \"ssh://10.0.[0-3].[1-254]:22\", gpus: 8, slots: 4, groups: [old]}\n"
                  "  - ssh://last\n");
    REQUIRE(spec.hosts.size() == 128 + 1016 + 1);
    CHECK(spec.hosts[127].docker.url == "ssh://ops@gpu128");
    CHECK(spec.hosts[127].name == HostName("gpu128"));
    CHECK(spec.hosts[127].address == "gpu128");
    CHECK(spec.hosts[127].line == 3);
    const auto& second = spec.hosts[128 + 1015];
    CHECK(second.name == HostName("node-10-0-3-254"));
    CHECK(second.docker.port == Port{22});
    CHECK(second.gpus.count == 8);
    CHECK(second.slots == 4);
    CHECK(second.groups == Texts{"old"});
    CHECK(spec.hosts.back().name == HostName("last"));
    CHECK(spec.hosts.back().position_name == "node-1144");
}

TEST_CASE("an IPv6 address in brackets is no range") {
    const auto spec = load_good(
        "image: a\nhosts: [\"ssh://[fd00::1]:22\", {docker: \"ssh://[fd00::2]:2[2-3]\", name: six-%i}]\n");
    CHECK(urls(spec) == Texts{"ssh://[fd00::1]:22", "ssh://[fd00::2]:22", "ssh://[fd00::2]:23"});
}

TEST_CASE("names and addresses of many hosts are made of their places and machines") {
    const auto spec = load_good("image: a\nhosts:\n"
                                "  - {docker: \"ssh://10.0.0.[5-6]\", name: gpu%i, address: \"%h\"}\n"
                                "  - {docker: \"ssh://w[1-2]\", name: \"%n-x\", address: \"%h-ib0\"}\n");
    CHECK(names(spec) == "gpu[0-1],w1-x,w2-x");
    CHECK(spec.hosts[1].address == "10.0.0.6");
    CHECK(spec.hosts[3].address == "w2-ib0");
}

TEST_CASE("a list from a file has the item's keys, and its own names, users, slots and addresses") {
    const auto loaded = load_list("  - {from: hosts.txt, docker: \"ssh://ops@%h:2200\", gpus: none}\n",
                                  file("/home/ada/vision/hosts.txt"),
                                  "gpu[1-2] slots=3\nLogin_1\n10.0.0.7\nssh://root@other\n");
    REQUIRE_MESSAGE(loaded.errors.empty(), all_text(loaded.errors));
    CHECK(loaded.sources.empty());
    CHECK(urls(loaded.spec) == Texts{"ssh://ops@gpu1:2200", "ssh://ops@gpu2:2200", "ssh://ops@Login_1:2200",
                                     "ssh://ops@10.0.0.7:2200", "ssh://root@other"});
    CHECK(names(loaded.spec) == "gpu[1-2],login-1,node-10-0-0-7,other");
    CHECK(loaded.spec.hosts[0].slots == 3);
    CHECK(loaded.spec.hosts[0].gpus.kind == GpuSpec::Kind::none);
}

TEST_CASE("an inventory says how its hosts are reached, and its groups are the cluster's") {
    const HostSource source{
        .file = "/etc/ansible/hosts", .format = HostSource::Format::ansible, .group = "gpu"};
    const auto loaded =
        load_list("  - from: {file: /etc/ansible/hosts, format: ansible, group: gpu}\n", source,
                  "[gpu:children]\nrack1\nrack2\n[rack1]\na ansible_host=10.0.0.1 ansible_user=ops\n"
                  "[rack2]\nb ansible_port=2222\n[db]\nc\n");
    REQUIRE_MESSAGE(loaded.errors.empty(), all_text(loaded.errors));
    CHECK(urls(loaded.spec) == Texts{"ssh://ops@10.0.0.1", "ssh://b:2222"});
    CHECK(names(loaded.spec) == "a,b");
    CHECK(loaded.spec.hosts[0].groups == Texts{"gpu", "rack1"});
    CHECK(loaded.spec.hosts[0].address == "10.0.0.1");
}

TEST_CASE("a list that has not been read is asked for, and nothing is said of hosts that it may have") {
    const auto loaded =
        load("image: {ref: a, from: gpu3}\nspares: 9\ngroups: {fast: gpu7}\nhosts:\n"
             "  - from: {command: ./who --gpu}\n  - from: {command: [who, 'a b']}\n  - from: ~/h\n",
             {{"HOME", "/home/ada"}});
    CHECK_MESSAGE(loaded.errors.empty(), all_text(loaded.errors));
    REQUIRE(loaded.sources.size() == 3);
    CHECK(loaded.sources[0].command == Texts{"/home/ada/vision/who", "--gpu"});
    CHECK(loaded.sources[1].command == Texts{"who", "a b"});
    CHECK(loaded.sources[1].place() == "`who 'a b'`");
    CHECK(loaded.sources[2].file == "/home/ada/h");
}

TEST_CASE("what is wrong with a list is told once, with its line") {
    const auto source = file("/l");
    auto loaded = load_list("  - from: /l\n", source, "a\nb[\n");
    CHECK(loaded.errors.size() == 1);
    CHECK(first_error(loaded) == "`hosts[0].from`: /l, line 2: the bracket in `[` is not closed");
    CHECK(first_error(load_list("  - from: /l\n", source, "\n")) == "`hosts[0].from`: /l names no host");
    loaded = load_list("  - {from: /l, docker: \"tcp://%h\"}\n", source, "n[1-4000]\n");
    CHECK(loaded.errors.size() == 1);
    CHECK(first_error(loaded) ==
          "`hosts[0].docker`: `tcp://n1` without TLS: whoever reaches that port is root on the host");
    loaded = load_with("  - from: /l\n", {{source, Result<ListText>(Error{.message = "the list is gone"})}});
    CHECK(first_error(loaded) == "`hosts[0].from`: the list is gone");
    loaded = load_list("  - from: /l\n", source, "-oProxyCommand=x\n");
    CHECK(loaded.errors.size() == 1);
    loaded = load_list("  - from: /l\n", source, "a,-x\n");
    CHECK(loaded.errors.size() == 1);
}

TEST_CASE("4096 nodes are the limit, and 100000 hosts that of a list") {
    CHECK(load_good("image: a\nhosts: [\"ssh://n[1-4096]\"]\n").hosts.size() == 4096);
    CHECK(first_error(load("image: a\nhosts: [\"ssh://n[1-4096]\", ssh://m]\n")) ==
          "`hosts[1]`: with this there are more than 4096 hosts");
    CHECK(first_error(load("image: a\nhosts: [\"ssh://n[1-100000]\"]\n")) ==
          "`hosts[0]`: with this there are more than 4096 hosts");
    CHECK(first_error(load("image: a\nhosts: [\"ssh://n[1-100001]\"]\n")) ==
          "`hosts[0]`: `ssh://n[1-100001]`: it stands for more than 100000 hosts");
    CHECK(first_error(load("image: a\nhosts: [{docker: \"ssh://n[1-1000]\", nodes: 200, gpus: none}]\n")) ==
          "`hosts`: 200000 nodes are more than the 4096 that a cluster may have");
}

TEST_CASE("groups of the file are ranges of hosts' names, and of groups above") {
    const auto spec = load_good("image: a\nhosts:\n  - {docker: \"ssh://gpu[1-6]\", groups: all6}\n"
                                "groups:\n  rack1: gpu[1-3]\n  rack2: [\"gpu[4-5]\", gpu6]\n"
                                "  both: [\"@rack2\", gpu1]\n");
    CHECK(spec.hosts[0].groups == Texts{"all6", "both", "rack1"});
    CHECK(spec.hosts[5].groups == Texts{"all6", "both", "rack2"});
}

} // namespace many_hosts_test
