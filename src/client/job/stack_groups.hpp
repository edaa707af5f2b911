// Ranks by where they stand: of a job that hangs, those that stand elsewhere than the others are the ones to
// look at. Pure.
#pragma once

#include "client/job/job_stacks.hpp"
#include "client/report/output.hpp"
#include "shared/diagnosis/verdict.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace dockdist {

// Those whose main threads have the same stack; where none could be read, that wait alike. Never empty.
using StackGroup = std::vector<const PlacedStack*>;
// The largest first; of groups of one size that with the lowest rank. They point into `ranks`.
std::vector<StackGroup> group_stacks(const std::vector<PlacedStack>& ranks);

HangVerdict judge_stacks(const std::vector<PlacedStack>& ranks);

enum class ShownThreads { main, all };
std::string stacks_text(const JobId& job, const JobStacks& stacks, ShownThreads threads,
                        const OutputTraits& output);

} // namespace dockdist
