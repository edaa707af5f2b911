// The proxies of docker's config.json, which `docker run` gives to containers.
#pragma once

#include "client/cli/context.hpp"

#include <map>
#include <string>

namespace dockdist {

// As variables, in both cases, for whatever runs in the nodes; without those that the file sets. They are no
// part of the containers, and secrets: a proxy's address may have a password. Nodes spare each other
// (node/session/proxies.hpp). Warns where hosts have different ones: those of the first host count.
std::map<std::string, std::string> own_proxies(const Context& context, const ClusterSpec& spec);

} // namespace dockdist
