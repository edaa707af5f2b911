// What stands on the hosts: read, never written.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/plan/observed.hpp"
#include "client/report/event.hpp"
#include "client/spec/cluster_spec.hpp"

#include <memory>
#include <string>
#include <vector>

namespace dockdist {

// One engine a host, in the order of ClusterSpec::hosts. Owned by the command.
using Engines = std::vector<std::unique_ptr<ContainerEngine>>;

struct Observation {
    ObservedCluster cluster{}; // as many hosts as the spec; one that failed stays empty
    Errors errors{};           // one a host that failed, in the hosts' order, where = host_label
    std::vector<bool> reached{};
};

// All hosts side by side, each three round trips in sequence: ping, what is there, the running nodes'
// records. `toolkits`: versions to look for; empty: only the containers are looked at (down, status, run).
// `only`: the hosts to look at (empty: all); another one is not reached, without an error.
Task<Observation> observe(const ClusterSpec& spec, const Engines& engines, std::vector<std::string> toolkits,
                          Reporter& reporter, std::vector<bool> only = {});

// The nodes of other clusters among a host's containers.
std::vector<Neighbour> neighbours_in(const std::vector<ContainerSummary>& containers, const ClusterName& own);

// One node that is ready, and the door to it.
struct ReadyNode {
    NodeName name{};
    ContainerId id{};
    std::size_t host = 0;
    wire::NodeRecord record{};
};

// What each of `nodes` has answered: errors get the names of theirs.
template <class T>
void name_nodes(std::vector<Result<T>>& answers, const std::vector<ReadyNode>& nodes) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (!answers[i]) {
            auto error = answers[i].error();
            error.where = nodes[i].name.str();
            answers[i] = std::move(error);
        }
    }
}

// What a command says to nodes, and so which nodes it can use (shared/wire/version.hpp).
enum class Words {
    all,     // those of this version
    of_jobs, // also nodes of a version next to it: jobs, their output, their end
};

// The ready nodes in rank order. Errors name each node of the file that is missing, not ready or of another
// version than `words` can do with, and what to do; not those of hosts that were not `reached` (empty: all
// were), which have an error of their own.
struct ReadyNodes {
    std::vector<ReadyNode> nodes{};
    Errors errors{};
};
ReadyNodes ready_nodes(const ClusterSpec& spec, const ObservedCluster& cluster,
                       const std::vector<bool>& reached = {}, Words words = Words::all);

} // namespace dockdist
