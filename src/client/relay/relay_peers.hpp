// Who asks whom, in a chain of relays.
#pragma once

#include "shared/wire/relay.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Whom each relay asks, nearest first: at most three before it that others can reach, with a new key for each
// two. The client is asked when none of them answers. `addresses[i]` is "ADDRESS PORT" of the i-th relay,
// empty when it has none. `origin`: the first one has it all, and every other one asks it last.
std::vector<wire::RelayPeers> make_peers(const std::vector<std::string>& addresses, bool origin = false);

} // namespace dockdist
