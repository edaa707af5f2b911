// What the nodes' names resolve to inside this node, as the image's own C library resolves them:
// dockdist-init is static and has another one.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// This node's name, those of `peers`, and what gethostname says:
// {"by":"getent"|"python"|"hosts","hostname":"node-0","addresses":{"node-0":["10.0.0.1"],"node-1":[], …}}
// By /etc/hosts alone where the image has neither getent nor Python.
nlohmann::json resolve_names(const std::vector<std::string>& peers);

// Pure: the addresses in the output of `getent ahosts NAME`, each once, in their order.
std::vector<std::string> parse_ahosts(std::string_view output);

} // namespace dockdist::node
