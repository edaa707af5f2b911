// What an engine is told and what it answers, as plain values. Field names follow the Engine API's where one
// exists; units are in the types. The wire JSON of these is made and read in engine/json_*.cpp and nowhere
// else.
#pragma once

#include "client/async/task.hpp"
#include "client/container/build_files.hpp"
#include "shared/core/engine_address.hpp"
#include "shared/core/names.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

using Labels = std::map<std::string, std::string>;

// --- GET /_ping, GET /version, GET /info -------------------------------------------------------------------

struct ApiVersion {
    int major = 1;
    int minor = 0;
    auto operator<=>(const ApiVersion&) const = default;
};

struct EngineInfo {
    ApiVersion api{};                    // negotiated: min(ours, the server's)
    std::string version{};               // of the engine: "20.10.24"
    std::string name{};                  // the machine's own name
    std::string operating_system{};      // "Debian GNU/Linux 12 (bookworm)"
    std::string kernel{};                //
    std::string architecture{};          // "x86_64", "aarch64"
    std::string os_type{};               // "linux"
    std::vector<std::string> runtimes{}; // names, sorted
    std::string system_time{};           // RFC 3339, as the engine gave it; empty before API 1.40
    std::string root_dir{};              // where it keeps images and containers: "/var/lib/docker"
    std::uint64_t cpus = 0;
    Bytes memory{};
    bool podman = false;
    bool rootless = false;
    bool remaps_users = false; // Docker's userns-remap
    bool selinux = false;      // containers have labels, and reach what has one that lets them
    std::vector<std::string> authorization_plugins{}; // Docker: each call passes them
    std::vector<std::string> cdi_devices{};   // DiscoveredDevices (API 1.50), "nvidia.com/gpu=0"; else empty
    std::vector<std::string> cdi_spec_dirs{}; // Docker, from API 1.44; empty where CDI is off
};

// --- containers --------------------------------------------------------------------------------------------

struct Mount {
    enum class Type { bind, volume, tmpfs };
    Type type = Type::bind;
    std::string
        source{}; // host path or volume name; empty for tmpfs and for a volume of this container alone
    std::string target{};
    bool read_only = false;
    Labels volume_labels{};      // volume only: given to the volume when it is made
    std::string tmpfs_options{}; // tmpfs only: "mode=0755,size=64m" (sent as HostConfig.Tmpfs)
    bool make_source = false;    // bind only: a folder that is missing on the host is made there, as root
    std::string selinux{};       // bind only: "z" or "Z"; engines then make a missing folder too
    std::string propagation{};   // bind only: "rslave", …
    bool no_copy = false;        // volume only: begins empty, without what the image has at its target
    bool data_only = false; // volume only: nosuid, nodev, noexec, which Podman alone takes; no labels then
    bool operator==(const Mount&) const = default;
};

struct Ulimit {
    std::string name{};
    std::int64_t soft = 0; // -1: unlimited
    std::int64_t hard = 0;
    bool if_allowed = false; // of the plan: left out where the engine refuses it
    bool operator==(const Ulimit&) const = default;
};

// HostConfig.DeviceRequests. `count` -1 asks for all; count and device_ids exclude each other. Capabilities
// is always [["gpu"]].
struct DeviceRequest {
    std::string driver{}; // "" for NVIDIA's hook, "cdi" for CDI names
    int count = 0;
    std::vector<std::string> device_ids{};
    bool operator==(const DeviceRequest&) const = default;
};

// POST /containers/create. Defaults here are the engine's own; what dockdist wants is decided in plan/.
struct ContainerConfig {
    ImageRef image{};
    std::string platform{}; // "linux/arm64", which the image has to be for; empty: whatever it is for
    std::string hostname{};
    std::string user{};
    std::string working_dir{};
    std::vector<std::string> entrypoint{};
    std::vector<std::string> command{};
    std::vector<std::string> env{}; // "NAME=value"
    Labels labels{};
    std::vector<Mount> mounts{};
    std::string network_mode{}; // "host"
    std::string ipc_mode{};     // "host", "private", …
    std::string pid_mode{};
    std::string runtime{};
    std::optional<Bytes> shm_size{};
    std::vector<Ulimit> ulimits{};
    std::vector<std::string> devices{}; // "/dev/infiniband": same path inside, rwm
    std::vector<DeviceRequest> device_requests{};
    std::vector<std::string> cap_add{}, cap_drop{}; // "ALL" in cap_drop: what cap_add names, and nothing else
    bool no_new_privileges = false;                 // HostConfig.SecurityOpt
    bool no_label = false;       // the same: SELinux lets it into folders of whatever label
    bool read_only_root = false; // volumes and tmpfs are written to all the same
    std::optional<std::int64_t> pids_limit{};
    bool privileged = false;
    std::string restart_policy{}; // "" (no), "unless-stopped", …
    std::optional<std::chrono::seconds> stop_timeout{};
    bool stdin_once = false; // stdin is open to the first client that attaches, until that one is gone
    bool disable_healthcheck = false; // an image's own HEALTHCHECK does not describe a node
    std::string log_driver{};         // "json-file"; "" leaves the daemon's default
    std::map<std::string, std::string> log_options{};
    bool operator==(const ContainerConfig&) const = default;
};

enum class ContainerState { created, running, paused, restarting, removing, exited, dead };

// One row of GET /containers/json.
struct ContainerSummary {
    ContainerId id{};
    std::string name{}; // without the leading '/'
    ImageRef image{};   // as it was named at create
    std::string image_id{};
    ContainerState state = ContainerState::created;
    Labels labels{};
    std::int64_t created_s = 0; // Unix seconds by the host's clock
};

// GET /containers/{id}/json.
struct ContainerDetails {
    ContainerId id{};
    std::string name{};
    std::string image_id{};
    ContainerState state = ContainerState::created;
    int exit_code = 0;
    bool oom_killed = false;
    std::string error{};      // the engine's word on a failed start
    std::string started_at{}; // RFC 3339
    std::vector<DeviceRequest> device_requests{};
    Labels labels{};
};

// What a container has written into its own layer, which goes with it.
struct ContainerDiff {
    std::vector<std::string> paths{};  // added or changed, folders among them
    std::vector<std::string> places{}; // its mounts' targets and its working folder, which the engine makes
    Bytes written{};                   // all of it
};

// --- exec --------------------------------------------------------------------------------------------------

struct ExecConfig {
    std::vector<std::string> command{};
    std::vector<std::string> env{};
    std::string user{};
    std::string working_dir{};
    bool stdin_open = true;
    bool privileged = false;
};

struct ExecState {
    bool running = false;
    std::optional<int> exit_code{}; // 126 with pid 0: the command could not be started
    int pid = 0;
};

// --- images, volumes, events -------------------------------------------------------------------------------

struct ImageDetails {
    std::string id{}; // "sha256:…"; not comparable between image stores
    std::vector<std::string> repo_tags{}, repo_digests{};
    std::vector<std::string> layers{}; // RootFS.Layers: comparable between hosts
    std::string architecture{}, os{};
    std::string created{}; // RFC 3339
    std::vector<std::string> env{};
    std::vector<std::string> entrypoint{}, command{};
    std::string user{}, working_dir{};
    Bytes size{};
};

// One message of a pull or load: {"status":…,"id":…,"progressDetail":{current,total}}.
struct PullProgress {
    std::string layer{};
    std::string status{};
    std::optional<std::uint64_t> current{}, total{}; // bytes
    bool operator==(const PullProgress&) const = default;
};

// What makes an image of a Dockerfile on a host.
enum class Builder {
    buildkit, // Docker's own since 18.09
    classic,  // where an engine has no other, or its administrator has turned BuildKit off
    buildah   // Podman's
};

struct BuildSecret {
    std::string id{};    // of `RUN --mount=type=secret,id=…`
    std::string value{}; // never printed
    std::string file{};  // where it stands in the tar: Buildah takes it from there, and puts it aside first
};

struct BuildLogin {
    std::string user{}, password{}; // never printed; without a user the password is an identity token
};

// POST /build, beside the tar.
struct BuildConfig {
    ImageRef reference{};                      // what the image is called then
    std::string dockerfile{"Dockerfile"};      // a name in the tar
    std::map<std::string, std::string> args{}; // ARG
    Labels labels{};
    std::string platform{}; // "linux/arm64"; empty: the host's own
    std::string target{};   // the stage to end at; empty: the last one
    // X-Registry-Config: base64url of {"REGISTRY": {"username": …}, …}; BuildKit asks `login` instead.
    std::string registry_config{};
    bool pull = false; // asks the registry for the base images even where they are there
    bool no_cache = false;
    std::vector<BuildSecret> secrets{}; // not for the classic builder, which has none
    // What BuildKit asks for while it builds: the folders "context" and "dockerfile", instead of a tar; by
    // the key, which is the same at each build of that folder, it finds again what it has of them.
    std::map<std::string, std::shared_ptr<BuildFiles>> folders{};
    std::string folder_key{};
    // The login for a registry ("ghcr.io"), or that there is none.
    std::function<Task<std::optional<BuildLogin>>(std::string)> login{};
};

// One message of a build. One of the four is set.
struct BuildOutput {
    std::string text{};     // what the builder or a step writes: lines or parts of such, with their ends
    std::string step{};     // what BuildKit is at: "[2/5] RUN make"
    PullProgress pull{};    // of a base image
    std::uint64_t sent = 0; // bytes of the tar, or of the files that BuildKit lacks, so far
    bool operator==(const BuildOutput&) const = default;
};

struct VolumeDetails {
    std::string name{};
    Labels labels{};
    std::int64_t created_s = 0; // Unix seconds by the host's clock; 0 where the engine does not tell
};

struct EngineEvent {
    std::string type{};   // "container"
    std::string action{}; // "die", "oom", "exec_die", "destroy", …
    std::string id{};     // of the actor
    std::map<std::string, std::string> attributes{};
    std::int64_t time_ns = 0;
};

struct EventFilter {
    std::vector<std::string> types{}, actions{}, labels{}; // labels as "name=value" or "name"
};

} // namespace dockdist
