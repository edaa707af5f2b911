// TCP ports for one job, held between all containers of the host: the network namespace is theirs together.
#pragma once

#include "core/result.hpp"
#include "node/system/os.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// Free when asked, on every address. Held = bound without listening, with SO_REUSEADDR: nobody can bind it
// but a listener that sets SO_REUSEADDR, the job's own. Given back when it is destroyed, in every process.
struct ReservedPort {
    int number = 0;
    std::vector<Fd> held{};
};

// From 20000 to 29999, beginning at a place that depends on the job's name, so that two jobs seldom meet.
Result<std::vector<ReservedPort>> reserve_ports(const std::string& job, int count);
// These and no others; conflict when one of them is taken.
Result<std::vector<ReservedPort>> reserve_these_ports(const std::vector<int>& numbers);

} // namespace dockdist::node
