// What stands on the hosts, as values. Made by observe/, read by make_plan.
#pragma once

#include "client/container/types.hpp"
#include "client/plan/running_jobs.hpp"
#include "shared/wire/join.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace dockdist {

struct ObservedNode {
    ContainerId id{};
    std::string container_name{};
    NodeName node{};
    int rank = 0; // as it joined; before that, as its label has it
    ContainerState state = ContainerState::created;
    std::string image_id{};
    Labels labels{};
    // From the container's log; present only while the node is ready.
    std::optional<wire::NodeRecord> record{};
    std::string members_hash{};
};

// A node of another cluster on the same host.
struct Neighbour {
    ContainerId id{};
    std::string cluster{}, node{};
    std::string owner{}; // USER@MACHINE, of who made it
    ContainerState state = ContainerState::created;
    bool old = false;                  // an earlier dockdist made it: it has no label of its GPUs
    std::vector<std::string> gpus{};   // that it has for itself: UUIDs, indices of its host, CDI names
    std::string image_id{}, toolkit{}; // what it is made of; the toolkit's version
};

struct ObservedHost {
    EngineInfo engine{};
    std::optional<ImageDetails> image{};   // the cluster's image, when the host has it
    std::set<std::string> toolkits{};      // versions whose volume exists, of those that were asked for
    std::vector<ObservedNode> nodes{};     // containers with this cluster's label and role node
    std::vector<ObservedNode> aside{};     // of these, such as an `up` has set aside for the one in `nodes`
    std::vector<Neighbour> neighbours{};   // the old ones' GPUs are known where `gpus` is
    std::optional<wire::GpuReport> gpus{}; // all of the host's; asked where PlanResult::wanted says so
    std::optional<VolumeDetails> lock{};   // of the cluster; looked for on its first host
    std::optional<ContainerSummary> older_lock{}; // a container, which was the lock in a dockdist of before
    std::vector<ContainerSummary>
        others{}; // with this cluster's label and neither role: an upload that was cut off
};

// In the order of ClusterSpec::hosts.
struct ObservedCluster {
    std::vector<ObservedHost> hosts{};
    // Asked where PlanResult::wanted says so: what is on all nodes that run, and whom they know.
    std::optional<JobsThere> jobs{};
    std::optional<std::vector<wire::NodeRecord>> known{};
};

} // namespace dockdist
