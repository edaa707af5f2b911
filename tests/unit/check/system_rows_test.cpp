#include "client/check/system_rows.hpp"
#include "facts_builder.hpp"

#include <doctest/doctest.h>

namespace system_rows_test {

using namespace dockdist;
using namespace dockdist::testing;
using State = CheckRow::State;

TEST_CASE("limits inside an ssh session") {
    ContainerSpec container;
    auto node = facts_of(0);
    auto row = judge_limits(node, container);
    CHECK(row.state == State::pass);
    CHECK(row.text == "in an ssh session: memlock unlimited, nofile 1048576, stack 64.0 MiB");

    node.facts.limits->memlock = 64 << 10;
    row = judge_limits(node, container); // no RDMA here that misses it
    CHECK(row.state == State::pass);
    CHECK(row.text.ends_with("; its engine does not allow more memlock"));
    CHECK(row.hint.empty());
    container.ulimits["memlock"] = {-1, -1};
    row = judge_limits(node, container);
    CHECK(row.state == State::warn);
    CHECK(row.hint.find("LimitMEMLOCK=infinity") != std::string::npos);
    container.ulimits["memlock"] = {65536, 65536};
    CHECK(judge_limits(node, container).hint.find("container.ulimits: {memlock: unlimited}") !=
          std::string::npos);

    node.facts.system->rdma.push_back({.device = "mlx5_0", .port = 1, .state = "ACTIVE"});
    CHECK(judge_limits(node, container).state == State::warn); // the container has no way to it
    node.facts.system->rdma_inside = true;
    row = judge_limits(node, container);
    CHECK(row.state == State::fail);
    CHECK(row.hint.starts_with("RDMA fails to register memory"));

    node = facts_of(0);
    node.facts.limits->nofile = 1024;
    node.facts.limits->stack = 1 << 20;
    row = judge_limits(node, container);
    CHECK(row.state == State::warn);
    CHECK(row.hint == "data loaders run out of open files: set `container.ulimits: {nofile: 1048576}`; set "
                      "`container.ulimits: {stack: 64m}`");

    node.facts.limits =
        Error{ErrorKind::node, "", "the node does not log in to itself: Connection refused", ""};
    row = judge_limits(node, container);
    CHECK(row.state == State::warn);
    CHECK(row.text == "not known: the node does not log in to itself: Connection refused");
}

TEST_CASE("shared memory: enough, 64 MiB, full, none") {
    ContainerSpec container{.ipc = "host"};
    auto node = facts_of(0);
    CHECK(judge_shm(node, container).text == "/dev/shm has 64.0 GiB");
    node.facts.system->shm = wire::Room{Bytes{64U << 20U}, Bytes{64U << 20U}};
    CHECK(judge_shm(node, container).state == State::warn);
    CHECK(judge_shm(node, container).hint.starts_with("with `container.ipc: host` it is the host's"));
    container.ipc = "private";
    CHECK(judge_shm(node, container).hint.starts_with("set `container.shm_size`"));
    node.facts.system->shm = wire::Room{Bytes{1U << 20U}, Bytes{64ULL << 30U}};
    CHECK(judge_shm(node, container).text == "/dev/shm is full: 1.0 MiB free of 64.0 GiB");
    node.facts.system->shm.reset();
    CHECK(judge_shm(node, container).text == "there is no /dev/shm");
}

TEST_CASE("architectures: one, two, and nodes that do not say") {
    auto nodes = cluster_facts(3);
    CHECK(rows_of(judge_system(nodes, {}), "architecture").empty());
    for (auto& node : nodes) {
        node.facts.system->machine = "x86_64";
    }
    auto row = rows_of(judge_system(nodes, {}), "architecture").at(0);
    CHECK(row.state == State::pass);
    CHECK(row.subject == "all nodes");
    CHECK(row.text == "amd64");
    nodes[2].facts.system->machine = "aarch64";
    row = rows_of(judge_system(nodes, {}), "architecture").at(0);
    CHECK(row.state == State::warn);
    CHECK(row.subject == "all nodes");
    CHECK(row.text == "amd64: node-0, node-1; arm64: node-2");
    CHECK(row.hint.find("for each of these architectures") != std::string::npos);
    nodes[1].facts.system->machine.clear();
    nodes[2].facts.system = Error{ErrorKind::timeout, "", "no end within 16 s", ""};
    row = rows_of(judge_system(nodes, {}), "architecture").at(0);
    CHECK(row.state == State::pass);
    CHECK(row.subject == "node-0");
}

TEST_CASE("governors and Xid errors: rows only where they are told") {
    auto nodes = cluster_facts(1);
    CHECK(rows_of(judge_system(nodes, {}), "governor").empty());
    CHECK(rows_of(judge_system(nodes, {}), "xid").empty());
    nodes[0].facts.system->governors = {{"performance", 62}};
    nodes[0].facts.system->xids.emplace();
    CHECK(rows_of(judge_system(nodes, {}), "governor").at(0).text == "performance");
    CHECK(rows_of(judge_system(nodes, {}), "xid").at(0).state == State::pass);
    nodes[0].facts.system->governors["powersave"] = 2;
    nodes[0].facts.system->xids = {{"0000:3b:00", 79}, {"0000:3b:00", 48}};
    const auto governor = rows_of(judge_system(nodes, {}), "governor").at(0);
    CHECK(governor.state == State::warn);
    CHECK(governor.text == "2 CPUs use the powersave governor");
    const auto xid = rows_of(judge_system(nodes, {}), "xid").at(0);
    CHECK(xid.state == State::warn);
    CHECK(xid.text == "Xid errors in the kernel's log: 79 on 0000:3b:00, 48 on 0000:3b:00");

    nodes[0].facts.system = Error{ErrorKind::timeout, "", "no end within 16 s", ""};
    const auto unknown = rows_of(judge_system(nodes, {}), "system").at(0);
    CHECK(unknown.state == State::warn);
    CHECK(unknown.text == "not known: no end within 16 s");
}

TEST_CASE("disks: one row for all that have room, one for each that has not") {
    auto nodes = cluster_facts(3);
    nodes[1].facts.system->disk->free = Bytes{40ULL << 30U};
    const std::vector<EngineRoot> roots{{HostName("node-0"), "/var/lib/docker"},
                                        {HostName("node-1"), "/var/lib/docker"},
                                        {HostName("node-2"), "/var/lib/containers/storage", true}};
    auto rows = judge_disks(nodes, roots);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].subject == "all hosts");
    CHECK(rows[0].text == "40.0 GiB free at least (node-1)");

    nodes[2].facts.system->disk->free = Bytes{2ULL << 30U};
    nodes[0].facts.system->disk->free = Bytes{1U << 20U};
    rows = judge_disks(nodes, roots);
    REQUIRE(rows.size() == 3);
    CHECK(rows[0].state == State::fail);
    CHECK(rows[0].text == "1.0 MiB free in /var/lib/docker");
    CHECK(rows[1].state == State::warn);
    CHECK(rows[0].hint ==
          "free space on the host, where images and containers are kept: `docker system df` shows, and "
          "`docker image prune` removes what nothing uses");
    CHECK(rows[1].text == "2.0 GiB free in /var/lib/containers/storage");
    CHECK(rows[1].hint ==
          "free space on the host, where images and containers are kept: `podman system df` shows, and "
          "`podman image prune` removes what nothing uses");
    CHECK(rows[2].subject == "node-1");
    CHECK(rows[2].text == "40.0 GiB free");

    nodes[1].facts.system->disk.reset();
    CHECK(judge_disks(nodes, roots).size() == 2);
    CHECK(judge_disks({}, roots).empty());
}

} // namespace system_rows_test
