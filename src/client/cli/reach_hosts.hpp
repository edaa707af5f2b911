// From what cluster.yaml says about a host to where its engine is: contexts of the docker command line, and
// aliases of the user's ssh configuration.
#pragma once

#include "client/cli/context.hpp"
#include "client/engine/docker_engine.hpp"

#include <vector>

namespace dockdist {

struct Reached {
    std::vector<EngineEndpoint> endpoints{}; // one a host, in the file's order
    Errors errors{};                         // of all hosts
};

// Fills in what the hosts of `spec` leave open: `docker` and `tls` of a context, and the address for peers
// where it is an ssh alias that stands for another. Connects to nothing. `only`: the hosts that matter
// (empty: all); the others' endpoints stay empty.
Task<Reached> reach_hosts(const Context& context, ClusterSpec& spec, const std::vector<bool>& only = {});

} // namespace dockdist
