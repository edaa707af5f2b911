// The container of one node: what the engine is asked to create.
#pragma once

#include "client/container/types.hpp"
#include "client/plan/engine_abilities.hpp"
#include "client/spec/cluster_spec.hpp"

#include <chrono>
#include <string>

namespace dockdist {

struct NodeConfigInput {
    const ClusterSpec& spec;
    const NodeSpec& node;
    const ImageDetails* image = nullptr; // null while the image is not there yet
    std::string toolkit_version{}, origin{};
    EngineAbilities engine{};
    bool cdi = false;  // uses_cdi() of its host
    bool imex = false; // its host may have IMEX channels
};

// Of `gpus: amd`, with all of /dev/dri.
inline constexpr const char* amd_device = "/dev/kfd";

// Without labels. `rdma`: ask for /dev/infiniband, which the engine refuses at create where the host has
// none: Docker for the mount (a missing device it refuses at start only), Podman for the device (a missing
// mount it would make).
ContainerConfig node_config(const NodeConfigInput& input, bool rdma);

// What a new node gets beside that; none that is there is made anew for it. What NVIDIA's hook gives where
// nobody says what (its older versions gave less); none of NVIDIA's GPUs where none are asked for; and the
// IMEX channel.
void add_beside(ContainerConfig& config, const NodeConfigInput& input);

// What lets a node's GPUs reach those of other hosts over NVLink (nvidia-imex): asked for, and refused where
// the host has none, as /dev/infiniband is.
inline constexpr const char* imex_channel = "/dev/nvidia-caps-imex-channels/channel0";
ContainerConfig without_imex(ContainerConfig config);

// A container that is never started: it holds the toolkit's volume writable while the tar is put there.
ContainerConfig toolkit_upload_config(const ImageSpec& image, const std::string& toolkit_version);

// A container of the name `gpu_look`, which tells the GPUs of a host (wire::GpuReport) and ends.
// `in_use_mib`: GpuAsk's.
enum class HelperGpus { none, by_hook, by_cdi, amd };
ContainerConfig gpu_look_config(const ImageSpec& image, const std::string& toolkit_version, HelperGpus gpus,
                                std::int64_t in_use_mib);
// It tells of the host's board as well, which is there.
void show_board(ContainerConfig& config);
inline constexpr const char* gpu_look = "dockdist_gpu_look"; // no node's container can have it: the '_'

// A container that is asked, by execs, what stands in the store of a node that is not there; it ends by
// itself a minute after the last one.
ContainerConfig store_reader_config(const ImageSpec& image, const std::string& toolkit_version,
                                    const std::string& volume);

inline constexpr std::chrono::seconds node_stop_timeout{10};

} // namespace dockdist
