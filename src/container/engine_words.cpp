#include "container/engine_words.hpp"

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

} // namespace

const EngineWords& words_of(bool podman) {
    return podman ? podman_words : docker_words;
}

std::string see_container_log(bool podman) {
    return fmt::format("see `{} logs` of its container", words_of(podman).program);
}

} // namespace dockdist
