// The tunnel of `forward`: over an exec in a node.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/tunnel/tunnel_client.hpp"

#include <functional>
#include <memory>

namespace dockdist {

// Once a client: starts the other end in a container and speaks with it until that ends, which is always an
// error: what the engine says, timeout (the node says nothing), node (it does not start, it has ended),
// protocol (of which another try is no better). The engine outlives it.
Task<Error> run_node_tunnel(std::shared_ptr<TunnelClient> client, ContainerEngine& engine, ContainerId id,
                            std::function<void()> on_ready);

} // namespace dockdist
