// What is known of why a job hangs, for people and for programs. Pure.
#pragma once

#include "client/job/job_stacks.hpp"
#include "client/report/output.hpp"
#include "shared/wire/hang.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

namespace dockdist {

// "rank 1 on node-0: it was stopped …; 3 others wait …; what to do".
std::string hang_text(const wire::Hang& hang);
nlohmann::json hang_json(const std::optional<wire::Hang>& hang); // null: none

// A line or more for each rank: its process, what it took of processors and disks between the two looks, what
// it waits for, the processes below it.
std::string evidence_text(const std::vector<PlacedStack>& ranks);
nlohmann::json evidence_json(const std::vector<PlacedStack>& ranks);

} // namespace dockdist
