// What hosts tell of their GPUs, and of who has them, where no node of the cluster is asked.
#pragma once

#include "client/cli/context.hpp"
#include "client/observe/ask_gpus.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

struct HostAnswers {
    std::vector<HostGpus> hosts{}; // where nothing can be known, that is its problem
    Errors errors{};
};
// Of hosts that have been reached. `board_alone`: who has what, and not the GPUs themselves. What a node of
// another cluster has for itself it holds, with an empty GpuParty::job.
Task<HostAnswers> ask_hosts_of(Context& context, const Attached& cluster, std::vector<std::size_t> hosts,
                               bool board_alone);

std::vector<std::string> host_names(const ClusterSpec& spec); // by index

// The reached hosts that have none of the ready nodes.
std::vector<std::size_t> hosts_without_nodes(const Attached& cluster);
// The cluster is not up on any host, and every host says so.
bool has_no_nodes(const Attached& cluster);
// Takes nodes of reached hosts out of what is wrong, as their hosts are asked instead: all of these, or those
// of hosts that have none.
enum class Forget { missing, all };
void forget_nodes(const Attached& cluster, Errors& errors, Forget which);

} // namespace dockdist
