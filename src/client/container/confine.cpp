#include "client/container/confine.hpp"

namespace dockdist {

void confine(ContainerConfig& config) {
    config.cap_drop = {"ALL"};
    config.no_new_privileges = true;
    config.read_only_root = true;
    config.pids_limit = 512;
}

bool starts_without_gains(const EngineInfo& engine) {
    return !engine.root_dir.starts_with("/var/snap/");
}

void fit(ContainerConfig& config, const EngineInfo& engine) {
    config.no_new_privileges = config.no_new_privileges && starts_without_gains(engine);
}

} // namespace dockdist
