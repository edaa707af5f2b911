// What the nodes' names resolve to inside this node, as the image's own C library resolves them:
// dockdist-init is static and has another one.
#pragma once

#include "node/system/environment.hpp"
#include "shared/wire/check_facts.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

// This node's name, those of `peers`, and what gethostname says. By /etc/hosts alone where the image has
// neither getent nor Python. For a process that has become the account whose `environment` it is.
wire::NameFacts resolve_names(const std::vector<std::string>& peers, const Environment& environment);

} // namespace dockdist::node
