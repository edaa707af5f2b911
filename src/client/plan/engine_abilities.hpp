// What engines of a kind and version can do, and what that means for a cluster. The one place that knows: the
// plan and `check` ask here, and nothing else asks what kind an engine is.
#pragma once

#include "client/container/types.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/error.hpp"

#include <optional>
#include <string>
#include <string_view>
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
    bool volume_options = false; // a volume may be mounted nosuid, nodev, noexec
    bool selinux = false;        // it has SELinux: containers reach a mounted folder only by its label
    bool without_gains = true;   // containers that may gain no privileges start
    bool labels = false;         // a mount's label is to be asked for: that is so, or it does not tell
};

EngineAbilities abilities_of(const EngineInfo& engine);

// For any GPUs that the engine gives by NVIDIA's hook or CDI names; AMD's by `gpus: amd` are devices as any
// other.
bool asks_for_nvidia(const GpuSpec& gpus);
// By `gpus: amd`, or by CDI names of these alone.
bool asks_for_amd(const GpuSpec& gpus);
// Whether its host may share NVLink with other hosts: all that do have NVIDIA's own CPUs.
bool may_have_imex(const EngineInfo& engine);

// Whether a host's GPUs are asked for by CDI names. Where the file does not say it: when it has such names,
// on Podman, and where the engine tells of all that is asked for by NVIDIA's names and has no runtime of
// theirs.
bool uses_cdi(const HostSpec& host, const EngineInfo& engine);
// Whether that hangs on what the engine tells today.
bool may_change_way(const HostSpec& host, const EngineInfo& engine);
inline constexpr std::string_view nvidia_cdi_kind = "nvidia.com/gpu=";
bool is_cdi_name(std::string_view device);

// Whether the image is of the architecture of the engine's host; also where one of the two is not known.
bool runs_on(const ImageDetails& image, const EngineInfo& engine);
// Of one that does not: "the image is for arm64, the host is x86_64".
std::string other_architecture(const ImageDetails& image, const EngineInfo& engine);
// What to do where such an image was to be sent there.
inline constexpr const char* build_for_both =
    "build it for the host's architecture, too, and let hosts pull from a registry that has both";

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

// `image`: the cluster's, of which something may be to be said; null where it is not there, or not asked.
EngineVerdict judge_engine(const ClusterSpec& spec, const HostSpec& host, const EngineInfo& engine,
                           const ImageDetails* image = nullptr);

// What jobs on a host can do where its engine asks nobody for a key: nothing to say of unix sockets, TLS and
// ssh. Known of a host that the file reaches by a context once that has been read.
std::optional<EngineRemark> judge_access(const HostSpec& host);

} // namespace dockdist
