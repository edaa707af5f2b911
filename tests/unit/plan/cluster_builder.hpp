// Small clusters for tests: a spec of n hosts, and what the engines would tell after `up`.
#pragma once

#include "client/plan/join_requests.hpp"
#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "client/plan/plan.hpp"

namespace dockdist::testing {

inline ClusterSpec spec_of(int hosts) {
    ClusterSpec spec;
    spec.name = ClusterName("vision");
    spec.image.ref = ImageRef("train:1");
    for (int i = 0; i < hosts; ++i) {
        HostSpec host;
        host.name = HostName("node-" + std::to_string(i));
        host.address = "10.0.0." + std::to_string(i + 1);
        host.docker = {.scheme = EngineAddress::Scheme::tcp,
                       .host = host.address,
                       .port = Port{2375},
                       .url = "tcp://" + host.address + ":2375"};
        spec.hosts.push_back(host);
    }
    return spec;
}

inline PlanContext context() {
    return {.toolkits = Toolkits(
                {{.architecture = "amd64", .version = "t1"}, {.architecture = "arm64", .version = "t2"}}),
            .origin = "ops@box:/home/ops/cluster.yaml",
            .attempt = "a1"};
}

inline ImageDetails image() {
    return {
        .id = "sha256:1", .architecture = "amd64", .os = "linux", .env = {"PATH=/opt/conda/bin:/usr/bin"}};
}

// Hosts that have the image and the toolkit, and no node yet.
inline ObservedCluster fresh(const ClusterSpec& spec) {
    ObservedCluster observed;
    for (std::size_t i = 0; i < spec.hosts.size(); ++i) {
        ObservedHost host;
        host.engine = {.version = "26.1.5", .architecture = "x86_64", .os_type = "linux"};
        host.image = image();
        host.toolkits = {"t1", "t2"};
        observed.hosts.push_back(std::move(host));
    }
    return observed;
}

// What an engine tells of a container that was made so.
inline ObservedNode made(const CreateNode& create, ContainerState state) {
    return {.id = ContainerId("id-" + create.node.name.str()),
            .container_name = create.container_name,
            .node = create.node.name,
            .rank = create.node.rank,
            .state = state,
            .image_id = "sha256:1",
            .labels = create.config.labels};
}

// The same hosts after `up` has carried out a plan for them.
inline ObservedCluster after_up(const ClusterSpec& spec) {
    auto observed = fresh(spec);
    wire::Members members{.cluster = spec.name.str()};
    for (const auto& node : expand_nodes(spec)) {
        wire::NodeRecord record;
        record.node = node.name.str();
        record.rank = node.rank;
        record.address = spec.hosts[node.host].address;
        record.ssh_port = 2222;
        record.slots = node.slots.value_or(1);
        record.settings = join_requests(spec, {node}).front().settings;
        members.nodes.push_back(record);
    }
    const auto plan = make_plan(spec, observed, context()).plan;
    for (std::size_t i = 0; i < plan.creates.size(); ++i) {
        const auto& create = plan.creates[i];
        auto& node = observed.hosts[create.host].nodes.emplace_back(made(create, ContainerState::running));
        node.record = members.nodes[i];
        node.members_hash = wire::members_hash(members);
    }
    return observed;
}

} // namespace dockdist::testing
