// How people speak to a host's engine: Docker and Podman have programs, services and files of other names.
// What is hinted on a host is said in the words of its own engine (ContainerEngine::podman,
// EngineInfo::podman).
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

struct EngineWords {
    std::string_view name{};    // "Docker"
    std::string_view service{}; // "the Docker daemon"
    std::string_view program{}; // "docker", whose subcommands are the same for both
    std::string_view status{};  // commands for a shell on the host: whether it is well
    std::string_view start{};
    std::string_view log{};
};

// `of_user`: a user's own (rootless), which their own systemd starts.
const EngineWords& words_of(bool podman, bool of_user = false);

std::string see_container_log(bool podman); // "see `docker logs` of its container"

} // namespace dockdist
