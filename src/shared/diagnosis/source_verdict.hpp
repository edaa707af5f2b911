// What NCCL's RAS, torch's flight recorder and the GPUs' driver say of a job's ranks, as verdicts about those
// that were looked at: each where stacks name nobody. Pure.
#pragma once

#include "shared/diagnosis/verdict.hpp"

#include <cstdint>
#include <vector>

namespace dockdist {

inline constexpr std::int64_t surely_ms = 30'000; // that something is seen unchanged, before it is sure

// Who has launched what the others wait in.
HangVerdict of_flights(const std::vector<LocatedStack>& ranks);
// Who has launched fewer collectives than the others, does not answer or has an error. It counts no sends,
// no receives and no all-to-all: who is behind may wait in these for one that works, and then nothing is
// sure.
HangVerdict of_ras(const HangEvidence& evidence);

// That all wait, by `stacks`, and GPUs of one node are faulty.
HangVerdict of_gpus(const HangEvidence& evidence, const HangVerdict& stacks);

// That all wait, by `stacks`, and what nodes have sent to others of the job is not answered.
HangVerdict of_network(const HangEvidence& evidence, const HangVerdict& stacks);

} // namespace dockdist
