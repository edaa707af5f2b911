// The interface that the node's record names, as it is now.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/check_facts.hpp"

namespace dockdist::node {

Result<wire::NetworkFacts> network_facts();

} // namespace dockdist::node
