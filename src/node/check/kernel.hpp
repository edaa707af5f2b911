// What the node's kernel and file systems tell.
#pragma once

#include "shared/wire/check_facts.hpp"

#include <string_view>
#include <vector>

namespace dockdist::node {

wire::SystemFacts system_facts();

// Pure: the Xid errors in lines of the kernel's log, each GPU's code once.
std::vector<wire::XidError> parse_xids(std::string_view kernel_log);

} // namespace dockdist::node
