// The giver's side of a list of members that goes from node to node (shared/wire/handed_on.hpp).
#pragma once

#include "shared/wire/join.hpp"

#include <cstdint>
#include <vector>

namespace dockdist::node {

// Brings the list that stands at paths().members to each of `receivers`, side by side, and each again until
// it is taken or the time is over: to nodes of the same host by their own door, to others by the toolkit's
// ssh. Whom it does not reach asks the client.
void hand_on(const std::vector<wire::NodeRecord>& receivers, const wire::NodeRecord& self,
             std::int64_t timeout_ms);

} // namespace dockdist::node
