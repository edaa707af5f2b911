// Names as the image's own C library resolves them; dockdist-init is static, and reads /etc/hosts alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// By `getent ahosts`, which may ask a DNS server for at most 5 s; empty: it has none for it.
std::vector<std::string> resolve_by_getent(const std::string& getent, const std::string& name);

// Pure: what it prints, each address once.
std::vector<std::string> parse_ahosts(std::string_view output);

} // namespace dockdist::node
