#include "client/engine/local_engine.hpp"

#include "shared/core/fd.hpp"

#include <cerrno>
#include <filesystem>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace dockdist {
namespace {

// Where each has its socket unless it is told otherwise.
std::vector<std::pair<std::string, std::string>> usual_sockets(const Environment& environment) {
    std::vector<std::pair<std::string, std::string>> sockets{{"/var/run/docker.sock", "Docker"}};
    const auto named = environment("XDG_RUNTIME_DIR").value_or("");
    const auto runtime = named.empty() ? "/run/user/" + std::to_string(::geteuid()) : named;
    sockets.emplace_back(runtime + "/docker.sock", "rootless Docker");
    sockets.emplace_back(runtime + "/podman/podman.sock", "rootless Podman");
    sockets.emplace_back("/run/podman/podman.sock", "Podman");
    return sockets;
}

std::vector<std::string> missing_files(const TlsFiles& tls, const std::string& folder) {
    std::vector<std::string> missing;
    for (const auto& [path, name] :
         {std::pair(tls.ca, "ca.pem"), {tls.cert, "cert.pem"}, {tls.key, "key.pem"}}) {
        if (path.empty()) {
            missing.push_back((std::filesystem::path(folder) / name).string());
        }
    }
    return missing;
}

} // namespace

LocalEngine find_local_engine(const Environment& environment,
                              const std::function<int(const std::string& path)>& connects) {
    LocalEngine engine;
    if (const auto host = docker_host(environment); !host.empty()) {
        engine = {.found = true, .url = host, .said_by = "DOCKER_HOST"};
        if (const auto context = load_docker_context("default", environment); context && context->tls) {
            engine.tls = context->tls;
            engine.lacks = missing_files(*engine.tls, docker_tls_folder(environment));
        }
        return engine;
    }
    if (const auto context = current_docker_context(environment); context != "default") {
        const auto named = environment("DOCKER_CONTEXT").value_or("");
        return {.found = true,
                .context = context,
                .said_by = named.empty() ? "docker's current context" : "DOCKER_CONTEXT"};
    }
    const auto sockets = usual_sockets(environment);
    for (const auto& [path, owner] : sockets) {
        const int why = connects(path);
        if (why == 0) {
            engine.found = true;
            engine.url = "unix://" + path;
            engine.said_by = owner;
            return engine;
        }
        if ((why == EACCES || why == EPERM) && path == sockets.front().first) {
            engine.denied = path;
        }
        engine.looked_at.push_back(path);
    }
    engine.url = "unix://" + sockets.front().first;
    engine.said_by = sockets.front().second;
    return engine;
}

int connect_to_socket(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof address.sun_path) {
        return ENAMETOOLONG;
    }
    path.copy(address.sun_path, path.size());
    const int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK; // a hung engine's queue may be full
    const Fd socket(::socket(AF_UNIX, kind, 0));
    const auto* const there = reinterpret_cast<const sockaddr*>(&address);
    return ::connect(socket.get(), there, sizeof address) == 0 ? 0 : errno;
}

} // namespace dockdist
