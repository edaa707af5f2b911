// What to say about the worlds of probes. Pure.
#pragma once

#include "client/check/probe_group.hpp"
#include "client/check/report/report.hpp"

#include <string_view>
#include <vector>

namespace dockdist {

// The measurements that every rank of a world made, with the mean of the ranks' times, as nccl-tests counts.
std::vector<CollectiveMeasurement> measurements_of(const ProbeWorld& world);

// What went wrong in a world, a row a cause: wrong elements, or the ranks that ended the others' work rather
// than those that only saw it. `stage` is in its words: "each node alone". None where all is well.
std::vector<CheckRow> judge_faults(const std::vector<NodeName>& nodes, std::string_view stage,
                                   const ProbeWorld& world);

// Rows that differ in their subject alone become one: a cluster without NCCL is one row, not sixty-four.
std::vector<CheckRow> join_alike(const std::vector<NodeName>& nodes, std::vector<CheckRow> rows);

// Each complete node by itself, beside known-good measurements or else beside the others; one GPU is a copy,
// and not graded.
std::vector<CheckRow> judge_alone(const std::vector<NodeName>& nodes, const std::vector<ProbeWorld>& worlds);

// The complete pairs beside each other: the slow node, or the slow pair.
std::vector<CheckRow> judge_pairs(const std::vector<NodeName>& nodes, const std::vector<ProbeWorld>& worlds);

// A complete world of several nodes: what it reaches, and over what. Fails where RDMA devices are there and
// sockets were used.
std::vector<CheckRow> judge_all(const std::vector<NodeName>& nodes, const ProbeWorld& world);
std::vector<CheckRow> judge_transport(const std::vector<NodeName>& nodes, const ProbeWorld& world);

} // namespace dockdist
