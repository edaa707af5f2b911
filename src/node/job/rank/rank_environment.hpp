// What a rank sees, whichever launcher started it and from whichever node. Pure.
#pragma once

#include "node/session/job_part.hpp"
#include "node/system/environment.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// `own` is what the launcher set. Launchers carry the environment of the node on which they run to all
// others, so what differs from node to node comes from this node's own record; the part goes over all. What
// the launcher's options say of RDMA stays: it is what no node `is_told`.
using IsTold = std::function<bool(std::string_view name, std::string_view value)>;
Environment rank_environment(Environment own, const Environment& recorded, const JobPart& part,
                             const IsTold& is_told);

// OpenMP's threads, for ranks that share a node's processors: torchrun would say one, and MPI's ranks would
// have all of them each. What another than dockdist has said stays, also where a launcher
// carries what was said on another node.
void set_threads(Environment& environment, const JobPart& part);

// A Python that crashes tells where it stood. What the user has said stays, an empty word too.
void show_crashes(Environment& environment);

// What is told for the case that the job hangs. What the user has said stays, also by a variable's other
// spelling, which then says the same.
void set_defaults(Environment& environment, const JobPart& part);

// A rank that dockdist itself has counted: RANK and its kin and, where SLURM_JOB_ID is set, what Slurm calls
// them.
struct RankNumbers {
    int rank = 0, local_rank = 0, world = 0, local_world = 0;
    int cpus = 0; // of the node, that it may run on
};
void number_rank(Environment& environment, const RankNumbers& numbers);

// The part's command, with its option for the local rank where it wants one.
std::vector<std::string> rank_argv(const JobPart& part, const Environment& environment);

// A variable's value as a number; -1 where it is none.
int number_in(const Environment& environment, const char* name);

} // namespace dockdist::node
