// What the ranks of a running job are doing, as its nodes tell it.
#pragma once

#include "client/job/job_list.hpp"
#include "shared/diagnosis/evidence.hpp"
#include "shared/wire/stacks.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace dockdist {

struct PlacedStack {
    NodeName node{};
    wire::RankStack stack{};
    std::string address{}; // the node's
};

struct JobStacks {
    std::vector<PlacedStack> ranks{}; // by their numbers
    Evidence ras{}, flight{};         // what NCCL's RAS and torch's flight recorder say of them
    Errors errors{};                  // of nodes that do not answer
};

// Asks the nodes on which the job runs side by side.
Task<JobStacks> fetch_stacks(const Engines& engines, const KnownJob& job,
                             std::chrono::milliseconds pause = {});

} // namespace dockdist
