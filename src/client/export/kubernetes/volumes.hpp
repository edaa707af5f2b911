// A node's mounts as a pod has them.
#pragma once

#include "client/spec/cluster_spec.hpp"
#include "shared/core/error.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {

struct PodVolumes {
    nlohmann::ordered_json volumes; // arrays; may be empty
    nlohmann::ordered_json mounts;
};
PodVolumes pod_volumes(const ContainerSpec& container, Errors& warnings);

} // namespace dockdist
