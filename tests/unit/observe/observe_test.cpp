#include "client/observe/observe.hpp"
#include "fakes/fake_engine.hpp"
#include "fakes/no_report.hpp"
#include "unit/plan/cluster_builder.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <memory>

namespace observe_test {

using namespace dockdist;

namespace {

Labels labels_of(const std::string& node, int rank, const std::string& cluster = "vision") {
    return {{labels::cluster, cluster},
            {labels::role, "node"},
            {labels::node, node},
            {labels::rank, std::to_string(rank)}};
}

wire::NodeRecord record_of(const std::string& node, int rank) {
    return {.node = node, .rank = rank, .address = "10.0.0." + std::to_string(rank + 1), .ssh_port = 2222};
}

class Hosts {
public:
    explicit Hosts(int count) : spec(testing::spec_of(count)) {
        for (const auto& host : spec.hosts) {
            auto engine = std::make_unique<FakeEngine>(io.get_executor(), host.name.str());
            fakes.push_back(engine.get());
            engines.push_back(std::move(engine));
        }
    }

    FakeEngine::Container& add(std::size_t host, const std::string& container, Labels with,
                               ContainerState state = ContainerState::running) {
        return fakes[host]->add_container(container, {.image = spec.image.ref, .labels = std::move(with)},
                                          state);
    }
    // As `up` leaves it.
    FakeEngine::Container& add_node(std::size_t host, const std::string& node, int rank) {
        auto& container = add(host, "dockdist-vision-" + node, labels_of(node, rank));
        container.log = "sshd is up\n" + wire::ready_record_line(record_of(node, rank), "h1");
        return container;
    }

    Observation look(std::vector<std::string> toolkits = {}, std::vector<bool> only = {}) {
        return run_task(io, observe(spec, engines, std::move(toolkits), reporter, std::move(only)));
    }

    boost::asio::io_context io{};
    ClusterSpec spec;
    Engines engines{};
    std::vector<FakeEngine*> fakes{};
    NoReport reporter{};
};

std::vector<std::string> names(const std::vector<ObservedNode>& nodes) {
    std::vector<std::string> all;
    for (const auto& node : nodes) {
        all.push_back(node.node.str());
    }
    return all;
}

std::vector<std::string> texts(const Errors& errors) {
    std::vector<std::string> all;
    for (const auto& error : errors) {
        all.push_back(to_text(error));
    }
    return all;
}

const Error refused{ErrorKind::unreachable, "node-1", "tcp://10.0.0.2:2375 refused the connection",
                    "is Docker listening?"};

} // namespace

TEST_CASE("a whole cluster is seen with the record of every node") {
    Hosts hosts(2);
    hosts.add_node(0, "node-0", 0);
    hosts.add_node(1, "node-1", 1);
    const auto seen = hosts.look();
    CHECK(seen.errors == Errors{});
    CHECK(seen.reached == std::vector{true, true});
    REQUIRE(seen.cluster.hosts.size() == 2);
    const auto& node = seen.cluster.hosts[1].nodes.at(0);
    CHECK(node.container_name == "dockdist-vision-node-1");
    CHECK(node.rank == 1);
    CHECK(node.state == ContainerState::running);
    CHECK(node.record == record_of("node-1", 1));
    CHECK(node.members_hash == "h1");
    const auto ready = ready_nodes(hosts.spec, seen.cluster, seen.reached);
    CHECK(ready.errors == Errors{});
    REQUIRE(ready.nodes.size() == 2);
    CHECK(ready.nodes[1].host == 1);
    CHECK(ready.nodes[1].id == node.id);
}

TEST_CASE(
    "nodes of other clusters are neighbours, with the GPUs that are theirs; old ones do not tell these") {
    Hosts hosts(1);
    hosts.add_node(0, "node-0", 0);
    auto labels = labels_of("a", 0, "speech");
    labels[labels::origin] = "ada@desk:/home/ada/cluster.yaml";
    hosts.add(0, "dockdist-speech-a", labels, ContainerState::exited);
    labels[labels::gpus] = "GPU-1,GPU-2";
    labels[labels::node] = "b";
    hosts.add(0, "dockdist-speech-b", labels);
    labels[labels::role] = "lock";
    hosts.add(0, "dockdist-speech-lock", labels);
    const auto seen = hosts.look();
    REQUIRE(seen.cluster.hosts[0].nodes.size() == 1);
    const auto& neighbours = seen.cluster.hosts[0].neighbours;
    REQUIRE(neighbours.size() == 2);
    CHECK(neighbours[0].old);
    CHECK(neighbours[0].gpus.empty());
    CHECK(neighbours[0].state == ContainerState::exited);
    CHECK(neighbours[0].owner == "ada@desk");
    CHECK_FALSE(neighbours[1].old);
    CHECK(neighbours[1].cluster == "speech");
    CHECK(neighbours[1].node == "b");
    CHECK(neighbours[1].gpus == std::vector<std::string>{"GPU-1", "GPU-2"});
}

TEST_CASE("a host that is down is named, stays empty, and hides no other") {
    Hosts hosts(3);
    for (int i = 0; i < 3; ++i) {
        hosts.add_node(static_cast<std::size_t>(i), "node-" + std::to_string(i), i);
    }
    hosts.fakes[1]->fail("ping", refused, -1);
    const auto seen = hosts.look();
    CHECK(seen.reached == std::vector{true, false, true});
    CHECK(texts(seen.errors) == std::vector<std::string>{"node-1 (tcp://10.0.0.2:2375): "
                                                         "refused the connection\n  is Docker listening?"});
    CHECK(seen.cluster.hosts[1].nodes.empty());
    const auto ready = ready_nodes(hosts.spec, seen.cluster, seen.reached);
    CHECK(ready.nodes.size() == 2);
    CHECK(ready.errors == Errors{}); // the host has an error of its own
}

TEST_CASE("a host that goes down while it is read is one that was not reached, whatever was read before") {
    for (const auto* call :
         {"ping", "list_containers", "container_log_tail", "info", "inspect_image", "inspect_volume"}) {
        Hosts hosts(2);
        hosts.add_node(0, "node-0", 0);
        hosts.add_node(1, "node-1", 1);
        hosts.fakes[1]->fail(call, refused, -1);
        CAPTURE(call);
        const auto seen = hosts.look({"t1"});
        CHECK(seen.reached == std::vector{true, false});
        CHECK(seen.errors.size() == 1);
        CHECK(seen.cluster.hosts[1].nodes.empty());
    }
}

TEST_CASE("other containers of the host, and those of clusters with names alike, are not the cluster's") {
    Hosts hosts(1);
    hosts.add_node(0, "node-0", 0);
    hosts.add(0, "web", {});
    hosts.add(0, "web-2", {{"com.docker.compose.project", "vision"}});
    hosts.add(0, "dockdist-vision-node-1", {{"maintainer", "somebody"}}); // our name, and no label
    hosts.add(0, "a", labels_of("node-0", 0, "vision-2"));
    hosts.add(0, "b", labels_of("node-0", 0, "Vision"));
    hosts.add(0, "c", labels_of("node-0", 0, ""));
    hosts.add(0, "d", {{"dockdist.clusters", "vision"}, {labels::role, "node"}});
    const auto seen = hosts.look();
    const auto& host = seen.cluster.hosts[0];
    CHECK(names(host.nodes) == std::vector<std::string>{"node-0"});
    CHECK_FALSE(host.older_lock.has_value());
    CHECK(host.others.empty());
}

TEST_CASE("the lock and what an upload left behind are told from nodes") {
    Hosts hosts(1);
    hosts.add(0, "lock", {{labels::cluster, "vision"}, {labels::role, "lock"}}, ContainerState::created);
    hosts.add(0, "upload", {{labels::cluster, "vision"}}, ContainerState::created);
    hosts.add(0, "future", {{labels::cluster, "vision"}, {labels::role, "something"}});
    const auto seen = hosts.look();
    const auto& host = seen.cluster.hosts[0];
    CHECK(host.nodes.empty());
    REQUIRE(host.older_lock.has_value());
    CHECK(host.older_lock->name == "lock");
    REQUIRE(host.others.size() == 2);
    CHECK(host.others[0].name == "future");
    CHECK(host.others[1].name == "upload");
}

TEST_CASE("the lock is looked for on the first host, and one of that name without its label is none") {
    Hosts hosts(2);
    const Labels ours{{labels::cluster, "vision"}, {labels::role, "lock"}};
    for (const auto& labels : {ours, Labels{}}) {
        for (auto* engine : hosts.fakes) {
            engine->volumes["dockdist-vision-lock"] = {.name = "dockdist-vision-lock", .labels = labels};
        }
        const auto seen = hosts.look({"t1"});
        CHECK(seen.cluster.hosts[0].lock.has_value() == !labels.empty());
        CHECK_FALSE(seen.cluster.hosts[1].lock.has_value());
    }
}

TEST_CASE("nodes of one host come in the order of their ranks, and a rank that is no number is 0") {
    Hosts hosts(1);
    hosts.add(0, "a", labels_of("host-10", 10));
    hosts.add(0, "b", labels_of("host-2", 2));
    auto broken = labels_of("host-x", 0);
    broken[labels::rank] = "many";
    hosts.add(0, "c", broken);
    const auto seen = hosts.look();
    CHECK(names(seen.cluster.hosts[0].nodes) == std::vector<std::string>{"host-x", "host-2", "host-10"});
    CHECK(seen.cluster.hosts[0].nodes[0].rank == 0);
}

TEST_CASE("a node has the rank that it joined with last, whatever it was when it was made") {
    Hosts hosts(1);
    hosts.add(0, "dockdist-vision-node-0", labels_of("node-0", 3)).log =
        wire::ready_record_line(record_of("node-0", 1), "h1");
    const auto seen = hosts.look();
    REQUIRE(seen.cluster.hosts[0].nodes.at(0).record.has_value());
    CHECK(seen.cluster.hosts[0].nodes[0].rank == 1);
}

TEST_CASE("only a running node whose last line is its record is ready") {
    struct State {
        const char* log;
        ContainerState state;
    };
    const auto record = wire::ready_record_line(record_of("node-0", 0), "h1");
    const auto after = record + "sshd ended\n";
    const auto hello = wire::hello_line(record_of("node-0", 0));
    const auto cut = record.substr(0, record.size() / 2);
    for (const auto& [log, state] :
         {State{"", ContainerState::running}, State{after.c_str(), ContainerState::running},
          State{hello.c_str(), ContainerState::running}, State{cut.c_str(), ContainerState::running},
          State{"\xff\xfe{\n", ContainerState::running}, State{record.c_str(), ContainerState::created},
          State{record.c_str(), ContainerState::exited}, State{record.c_str(), ContainerState::paused},
          State{record.c_str(), ContainerState::restarting}, State{record.c_str(), ContainerState::dead}}) {
        CAPTURE(log);
        CAPTURE(static_cast<int>(state));
        Hosts hosts(1);
        hosts.add(0, "dockdist-vision-node-0", labels_of("node-0", 0), state).log = log;
        const auto seen = hosts.look();
        REQUIRE(seen.errors == Errors{});
        CHECK_FALSE(seen.cluster.hosts[0].nodes.at(0).record.has_value());
        const auto ready = ready_nodes(hosts.spec, seen.cluster);
        CHECK(ready.nodes.empty());
        CHECK(texts(ready.errors) ==
              std::vector<std::string>{"node-0 on node-0 (tcp://10.0.0.1:2375): the node is not ready\n"
                                       "  run `dockdist up` to bring it back"});
    }
}

TEST_CASE("the record's line may end as a terminal's does") {
    Hosts hosts(1);
    auto& node = hosts.add_node(0, "node-0", 0);
    node.log.insert(node.log.size() - 1, "\r");
    CHECK(node.log.ends_with("}\r\n"));
    CHECK(hosts.look().cluster.hosts[0].nodes.at(0).record.has_value());
}

TEST_CASE("a container that goes while it is looked at is not ready, and no error") {
    Hosts hosts(1);
    hosts.add_node(0, "node-0", 0);
    hosts.fakes[0]->on_call = [&](const std::string& call) {
        if (call.starts_with("container_log_tail")) {
            hosts.fakes[0]->containers.clear();
        }
    };
    const auto seen = hosts.look();
    CHECK(seen.errors == Errors{});
    CHECK_FALSE(seen.cluster.hosts[0].nodes.at(0).record.has_value());
}

TEST_CASE("a node that nobody has made is not up") {
    Hosts hosts(2);
    hosts.add_node(0, "node-0", 0);
    const auto seen = hosts.look();
    const auto ready = ready_nodes(hosts.spec, seen.cluster, seen.reached);
    CHECK(ready.nodes.size() == 1);
    CHECK(texts(ready.errors) ==
          std::vector<std::string>{
              "node-1 on node-1 (tcp://10.0.0.2:2375): the node is not up\n  run `dockdist up`"});
}

TEST_CASE("nodes of another version are of use for words about jobs, or for none") {
    Hosts hosts(3);
    for (int i = 0; i < 3; ++i) {
        const auto host = static_cast<std::size_t>(i);
        auto& container = hosts.add_node(host, "node-" + std::to_string(i), i);
        container.config.labels[labels::wire] = std::to_string(wire::version + i);
    }
    const auto seen = hosts.look();
    const auto ready = ready_nodes(hosts.spec, seen.cluster, seen.reached);
    REQUIRE(ready.nodes.size() == 1);
    CHECK(ready.nodes[0].name == NodeName("node-0"));
    REQUIRE(ready.errors.size() == 2);
    CHECK(ready.errors[0].where == "node-1 on node-1 (tcp://10.0.0.2:2375)");
    CHECK(ready.errors[0].message.find("of the protocol") != std::string::npos);
    const auto for_jobs = ready_nodes(hosts.spec, seen.cluster, seen.reached, Words::of_jobs);
    CHECK(for_jobs.nodes.size() == 2);
    CHECK(for_jobs.errors.size() == 1);
}

TEST_CASE("image, toolkit and engine are asked for where a plan is to be made, and only there") {
    Hosts hosts(2);
    hosts.fakes[0]->add_image("train:1", "sha256:7");
    hosts.fakes[0]->volumes["dockdist-toolkit-t1"] = {};
    hosts.fakes[1]->volumes["dockdist-toolkit-t0"] = {}; // an older one
    const auto seen = hosts.look({"t1"});
    CHECK(seen.errors == Errors{});
    REQUIRE(seen.cluster.hosts[0].image.has_value());
    CHECK(seen.cluster.hosts[0].image->id == "sha256:7");
    CHECK(seen.cluster.hosts[0].toolkits == std::set<std::string>{"t1"});
    CHECK_FALSE(seen.cluster.hosts[1].image.has_value());
    CHECK(seen.cluster.hosts[1].toolkits.empty());

    hosts.fakes[0]->calls.clear();
    hosts.look();
    CHECK(hosts.fakes[0]->calls == std::vector<std::string>{"ping", "list_containers"});
}

TEST_CASE("hosts that are not to be looked at are not reached, without an error") {
    Hosts hosts(2);
    hosts.add_node(1, "node-1", 1);
    const auto seen = hosts.look({}, {false, true});
    CHECK(seen.reached == std::vector{false, true});
    CHECK(seen.errors == Errors{});
    CHECK(hosts.fakes[0]->calls.empty());
    CHECK(names(seen.cluster.hosts[1].nodes) == std::vector<std::string>{"node-1"});
}

} // namespace observe_test
