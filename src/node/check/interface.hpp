// The interface that the node's record names, as it is now.
#pragma once

#include "core/result.hpp"
#include "wire/check_facts.hpp"

namespace dockdist::node {

Result<wire::NetworkFacts> network_facts();

} // namespace dockdist::node
