#include "container/confine.hpp"

namespace dockdist {

void confine(ContainerConfig& config) {
    config.cap_drop = {"ALL"};
    config.no_new_privileges = true;
    config.read_only_root = true;
    config.pids_limit = 512;
}

} // namespace dockdist
