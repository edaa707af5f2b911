// hostname, as scripts and launchers ask it for this machine's address.
#pragma once

#include "node/system/network.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist::node {

// `hostname -I` (--all-ip-addresses): prints every address of the node, the one that its peers use first, and
// returns 0. Launchers take the first for the rendezvous (DeepSpeed does), and the kernel may list the
// engine's bridge before it. `hostname -i` (--ip-address), which scripts do the same with: that address
// alone. Nothing: another call, or this node has not joined.
std::optional<int> run_hostname(const std::vector<std::string>& arguments);

// Pure: `own`, then the rest without loopback and link-local ones, each followed by a space, as hostname
// does.
std::string all_addresses(const std::string& own, const std::vector<InterfaceAddress>& available);

} // namespace dockdist::node
