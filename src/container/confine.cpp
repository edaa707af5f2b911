#include "container/confine.hpp"

namespace dockdist {

void confine(ContainerConfig& config) {
    config.cap_drop = {"ALL"};
    config.security_options = {"no-new-privileges"}; // Podman knows no ":true" behind it
    config.read_only_root = true;
    config.pids_limit = 512;
}

} // namespace dockdist
