// What engines of a kind and version can do, and what that means for a cluster. The one place that knows: the
// plan and `check` ask here, and nothing else asks what kind an engine is.
#pragma once

#include "container/types.hpp"
#include "core/error.hpp"
#include "spec/cluster_spec.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct EngineAbilities {
    bool gpu_hook = true;      // GPUs by NVIDIA's hook
    bool cdi = true;           // GPUs by CDI names
    bool runtimes = true;      // `container.runtime`
    bool host_network = true;  // "host" has the host's own addresses
    bool raises_limits = true; // ulimits may be higher than the engine's own
    bool refuses_mounts =
        true; // a mount of a folder that is not there fails; else the engine makes the folder
};

EngineAbilities abilities_of(const EngineInfo& engine);

// "Engine 26.1.5", "Podman 5.4.2, rootless".
std::string engine_name(const EngineInfo& engine);

struct EngineRemark {
    std::string message{};
    std::string hint{}; // what to do
};

struct EngineVerdict {
    std::vector<EngineRemark> errors{};   // what the file asks for that this engine cannot do
    std::vector<EngineRemark> warnings{}; // what it does in another way than may be expected
};

EngineVerdict judge_engine(const ClusterSpec& spec, const HostSpec& host, const EngineInfo& engine);

// What jobs on a host can do where its engine asks nobody for a key: nothing to say of unix sockets, TLS and
// ssh. Known of a host that the file reaches by a context once that has been read.
std::optional<EngineRemark> judge_access(const HostSpec& host);

} // namespace dockdist
