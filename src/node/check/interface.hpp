// The interface that the node's record names, as it is now.
#pragma once

#include <nlohmann/json.hpp>

namespace dockdist::node {

// {"interface":"eth0","there":true,"up":true,"loopback":false,"bridge":false,"address_there":true,"mtu":1500}
// up: set up, and with a carrier. bridge: one of the kernel's, as docker0 is.
nlohmann::json network_facts();

} // namespace dockdist::node
