// What a node says of itself at the join, held to what it was asked: the record goes to every other node,
// into its hostfile, ssh settings and /etc/hosts, so no node may speak for another, or for a name of the
// world's.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/join.hpp"

#include <string>
#include <vector>

namespace dockdist {

// `machine`: its host's own name, as the engine tells it. Errors have no place yet.
Status check_record(const wire::NodeRecord& record, const wire::JoinRequest& request,
                    const std::string& machine);

// No two nodes at one address and port.
Status check_distinct(const std::vector<wire::NodeRecord>& records);

// No IPv4 beside IPv6: each node listens at its one address alone.
Status check_one_family(const std::vector<wire::NodeRecord>& records);

} // namespace dockdist
