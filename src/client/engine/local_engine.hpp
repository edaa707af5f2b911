// The engine of this machine that the docker command line would use, or, where there is none, Podman's.
#pragma once

#include "client/engine/docker_context.hpp"

#include <functional>
#include <string>
#include <vector>

namespace dockdist {

struct LocalEngine {
    bool found = false;                   // else the usual address stands here, and nothing answers
    std::string context{};                // a context's name; else
    std::string url{};                    // "unix:///var/run/docker.sock", as cluster.yaml has it
    std::optional<TlsFiles> tls{};        // of DOCKER_HOST, by DOCKER_TLS_VERIFY and DOCKER_CERT_PATH
    std::vector<std::string> lacks{};     // of these files, those that are not there
    std::string said_by{};                // "DOCKER_HOST", "docker's current context", "rootless Docker"
    std::vector<std::string> looked_at{}; // sockets where nothing answers
    std::string denied{};                 // Docker's own socket, where it is not for us
};

// DOCKER_HOST, then DOCKER_CONTEXT and the configuration's currentContext, then the sockets of Docker,
// rootless Docker, rootless Podman and Podman. `connects`: 0 where a program listens on a socket, else errno;
// what the user has named is not asked.
LocalEngine find_local_engine(const Environment& environment,
                              const std::function<int(const std::string& path)>& connects);

// 0 where a program listens there, else errno.
int connect_to_socket(const std::string& path);

} // namespace dockdist
