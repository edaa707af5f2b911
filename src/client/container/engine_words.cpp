#include "client/container/engine_words.hpp"

#include <fmt/format.h>

namespace dockdist {
namespace {

constexpr EngineWords docker_words{.name = "Docker",
                                   .service = "the Docker daemon",
                                   .program = "docker",
                                   .status = "systemctl status docker; journalctl -u docker",
                                   .start = "sudo systemctl start docker",
                                   .log = "journalctl -u docker"};
constexpr EngineWords podman_words{.name = "Podman",
                                   .service = "Podman's service",
                                   .program = "podman",
                                   .status = "systemctl status podman.socket podman; journalctl -u podman",
                                   .start = "sudo systemctl start podman.socket",
                                   .log = "journalctl -u podman"};
constexpr EngineWords users_docker_words{.name = "Docker",
                                         .service = "the user's Docker daemon",
                                         .program = "docker",
                                         .status =
                                             "systemctl --user status docker; journalctl --user -u docker",
                                         .start = "systemctl --user start docker",
                                         .log = "journalctl --user -u docker"};
constexpr EngineWords users_podman_words{
    .name = "Podman",
    .service = "the user's Podman service",
    .program = "podman",
    .status = "systemctl --user status podman.socket podman; journalctl --user -u podman",
    .start = "systemctl --user start podman.socket",
    .log = "journalctl --user -u podman"};

} // namespace

const EngineWords& words_of(bool podman, bool of_user) {
    if (of_user) {
        return podman ? users_podman_words : users_docker_words;
    }
    return podman ? podman_words : docker_words;
}

std::string see_container_log(bool podman) {
    return fmt::format("see `{} logs` of its container", words_of(podman).program);
}

} // namespace dockdist
