// Names as the image's own C library resolves them; dockdist-init is static, and reads /etc/hosts alone.
#pragma once

#include "node/system/helper.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// By `getent ahosts`, which may ask a DNS server for at most 5 s; empty: it has none for it.
std::vector<std::string> resolve_by_getent(Program getent, const std::string& name, Environment environment);
Helper ask_getent(Program getent, const std::string& name, Environment environment);

// Pure: what it prints, each address once.
std::vector<std::string> parse_ahosts(std::string_view output);

} // namespace dockdist::node
