// network.rdma: required: whether a job's nodes can go over RDMA, before it begins.
#pragma once

#include "client/job/select_nodes.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/result.hpp"

#include <vector>

namespace dockdist {

// One for each of the job's nodes that cannot; none where the file does not require it.
Errors lacking_rdma(const NetworkSpec& network, const std::vector<ReadyNode>& nodes);

} // namespace dockdist
