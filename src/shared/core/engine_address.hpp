// Where an engine listens, and what proves who we are.
#pragma once

#include "shared/core/names.hpp"
#include "shared/core/result.hpp"

#include <string>
#include <string_view>

namespace dockdist {

struct EngineAddress {
    enum class Scheme { unix_socket, tcp, tls, ssh, srun, srun_podman };
    Scheme scheme = Scheme::unix_socket;
    std::string user{}; // ssh only
    std::string host{}; // empty for unix_socket; an IPv6 address without brackets; of srun Slurm's own name
                        // of the node
    Port port{};        // 0 for unix_socket, and where the user's ssh configuration shall say (22 by default)
    std::string path{}; // of the socket: unix_socket, and ssh and srun where one is named
    std::string url{};  // as it was written, for messages
    bool by_srun() const { return scheme == Scheme::srun || scheme == Scheme::srun_podman; }
    bool operator==(const EngineAddress&) const = default;
};

struct TlsFiles {
    std::string ca{}, cert{}, key{}; // paths of PEM files
    bool operator==(const TlsFiles&) const = default;
};

// Reads unix:///path, tcp://host[:port] (2375, or 2376 with TLS),
// ssh://[user@]host[:port][/path/of/docker.sock], srun://node[/path/of/docker.sock] (an engine of a node of
// the Slurm allocation that we run in, reached by a step there) and srun+podman://node (one that such a step
// starts). Refuses what an option-hungry program could misread (a user
// or host that begins with '-'), queries and fragments. Errors: config, with message and hint but without
// where.
Result<EngineAddress> parse_engine_address(std::string_view url);

} // namespace dockdist
