// Variables by which programs are told of proxies (shared/core/proxies.hpp). None leads from one node to
// another.
#pragma once

#include "node/system/environment.hpp"
#include "shared/wire/join.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dockdist::node {

// The nodes' names and addresses, as far as they find room in a variable.
std::vector<std::string> peers_of(const wire::Members& members);
std::vector<std::string> known_peers(); // the same of the list that this node has; none before it has joined

// Where the environment has a proxy, NO_PROXY and no_proxy get what they lack of the names of this machine,
// and of `peers`, who are asked for only then.
void spare_peers(Environment& environment, const std::function<std::vector<std::string>()>& peers);

// Those that `from` has and the environment has in neither case; of NO_PROXY, what both have.
void take_proxies(Environment& environment, const Environment& from);

} // namespace dockdist::node
