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
    std::vector<PlacedStack> ranks{};       // by their numbers
    std::vector<wire::RasReport> reports{}; // of NCCL's RAS, as each node has heard it
    Evidence ras{}, flight{};               // what that and torch's flight recorder say of them
    Errors errors{};                        // of nodes that do not answer
};

// Of stacks that live on.
HangEvidence evidence_of(const JobStacks& stacks);

// Asks the nodes on which the job runs side by side.
Task<JobStacks> fetch_stacks(const Engines& engines, const KnownJob& job,
                             std::chrono::milliseconds pause = {});

} // namespace dockdist
