// TCP ports that are held between all containers of the host: the network namespace is theirs together.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// Bound without listening, with SO_REUSEADDR: nobody can bind it but a listener that sets SO_REUSEADDR, the
// holder's own; and who comes here for it does not get it. Given back with the last copy of the descriptor.
// Not open, with errno: the address or port is taken or none.
Fd hold_port(const std::string& address, int port);
// The same, also beside connections of an earlier listener that are on their way out, as a new one can have
// it then. Whether a hold of somebody else's is there beside them cannot be seen, a listener can.
Fd hold_port_beside_remains(const std::string& address, int port);

// For a job. Free when asked, on every address.
struct ReservedPort {
    int number = 0;
    std::vector<Fd> held{};
};

// From 20000 to 29999, beginning at a place that depends on the job's name, so that two jobs seldom meet.
Result<std::vector<ReservedPort>> reserve_ports(const std::string& job, int count);
// These and no others; conflict when one of them is taken.
Result<std::vector<ReservedPort>> reserve_these_ports(const std::vector<int>& numbers);

} // namespace dockdist::node
