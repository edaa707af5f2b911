#include "client/plan/engine_abilities.hpp"

#include "client/container/confine.hpp"
#include "client/plan/driver_capabilities.hpp"
#include "shared/core/host_list.hpp"
#include "shared/core/text.hpp"
#include "shared/core/toolkits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace dockdist {
namespace {

using Version = std::pair<int, int>;

// "5.4.2", "20.10.24+dfsg1", "5.5-dev". What is no version is {0, 0}.
Version version_of(const std::string& text) {
    Version version{0, 0};
    const auto* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, version.first);
    if (major.ec == std::errc{} && major.ptr != end && *major.ptr == '.') {
        std::from_chars(major.ptr + 1, end, version.second);
    }
    return version;
}

// Tried: 4.3 drops CDI requests of its Docker API without a word, 5.4 resolves them.
constexpr Version first_podman_with_cdi{5, 4};
// Tried: 3.0 refuses every container whose healthcheck is turned off; Podman's release notes name 4.2 as the
// cure.
constexpr Version oldest_podman{4, 2};
constexpr ApiVersion first_docker_with_cdi{1, 44}; // Engine 25.0

bool knows_device(const EngineInfo& engine, const std::string& name) {
    const auto& known = engine.cdi_devices;
    return std::ranges::find(known, std::string(nvidia_cdi_kind) + name) != known.end();
}

bool is_of_amd(const std::string& device) {
    return device.starts_with("amd.com/");
}

// Whether the engine tells of all that a host's nodes would ask for by CDI names. A CDI file may have other
// names than the hook knows (no UUIDs, none of a GPU that is new), or be another vendor's.
bool knows_all_of(const GpuSpec& gpus, const EngineInfo& engine) {
    switch (gpus.kind) {
    case GpuSpec::Kind::none:
        return false;
    case GpuSpec::Kind::all:
        return knows_device(engine, "all");
    case GpuSpec::Kind::count: // chosen among all
        return knows_device(engine, "all") &&
               std::ranges::count_if(engine.cdi_devices, [](const std::string& name) {
                   return name.starts_with(nvidia_cdi_kind) && !name.ends_with("=all");
               }) >= gpus.count;
    case GpuSpec::Kind::devices:
        return std::ranges::all_of(gpus.devices,
                                   [&](const std::string& name) { return knows_device(engine, name); });
    }
    return false;
}

bool has_cdi_names(const HostSpec& host) {
    return std::ranges::any_of(host.gpus.devices, is_cdi_name);
}

std::string without_cdi(const HostSpec& host) {
    return has_cdi_names(host) ? "or name GPUs by index or UUID" : "or leave out `cdi:`";
}

bool is_desktop(const EngineInfo& engine) {
    return engine.operating_system == "Docker Desktop";
}

bool is_folder(const MountSpec& mount) {
    return mount.source.starts_with('/');
}

bool mounts_folders(const ContainerSpec& container) {
    return std::ranges::any_of(container.mounts, is_folder);
}

bool mounts_labelled(const ContainerSpec& container) {
    return std::ranges::any_of(
        container.mounts, [](const MountSpec& mount) { return is_folder(mount) && !mount.selinux.empty(); });
}

// The first folder that nothing is said of.
std::string unlabelled_folder(const ContainerSpec& container) {
    const auto found = std::ranges::find_if(
        container.mounts, [](const MountSpec& mount) { return is_folder(mount) && mount.selinux.empty(); });
    return found == container.mounts.end() ? "" : found->source;
}

// With the host's IPC namespace, or all rights, a container has no label of its own: it reaches all of them.
bool is_labelled(const ContainerSpec& container) {
    return !container.privileged && container.ipc != "host";
}

bool is_same_engine(const HostSpec& a, const HostSpec& b) {
    return a.docker.host == b.docker.host && a.docker.port == b.docker.port && a.docker.path == b.docker.path;
}

int hosts_with_engine_of(const ClusterSpec& spec, const HostSpec& host) {
    return static_cast<int>(std::ranges::count_if(
        spec.hosts, [&](const HostSpec& other) { return is_same_engine(other, host); }));
}

bool has_other_engines(const ClusterSpec& spec, const HostSpec& host) {
    return hosts_with_engine_of(spec, host) < static_cast<int>(spec.hosts.size());
}

// A folder that several nodes of one machine want for one of them alone.
const MountSpec* contested_folder(const ClusterSpec& spec, const HostSpec& host) {
    const auto& mounts = spec.container.mounts;
    const auto found = std::ranges::find_if(
        mounts, [](const MountSpec& mount) { return is_folder(mount) && mount.selinux == "Z"; });
    const bool several = found != mounts.end() && (host.nodes > 1 || hosts_with_engine_of(spec, host) > 1);
    return several ? &*found : nullptr;
}

bool wants_unlimited(const ContainerSpec& container) {
    return std::ranges::any_of(container.ulimits, [](const auto& limit) {
        return limit.second.hard < 0 && !limit.second.automatic;
    });
}

EngineRemark no_gpus(const HostSpec& host, const EngineInfo& engine, const EngineAbilities& able) {
    const auto name = engine_name(engine);
    if (engine.podman && able.cdi) {
        return {name + " ignores GPU requests that are not CDI names",
                "leave out `cdi: false` (the host's CDI file: nvidia-ctk cdi generate "
                "--output=/etc/cdi/nvidia.yaml), or set `gpus: none`"};
    }
    if (engine.podman) {
        return {name + " ignores all GPU requests of its Docker-compatible API",
                "upgrade Podman on that host to 5.4 or newer, use Docker there, or set `gpus: none`"};
    }
    if (engine.api >= first_docker_with_cdi) {
        return {"CDI is off in " + name,
                fmt::format(R"(write "features": {{"cdi": true}} into the host's {} and restart Docker, {})",
                            engine.rootless ? "~/.config/docker/daemon.json" : "/etc/docker/daemon.json",
                            without_cdi(host))};
    }
    return {name + " does not support CDI names",
            "upgrade Docker on that host to 25 or newer, " + without_cdi(host)};
}

// What the engine knows of the names that a host's nodes ask for: those that it lacks.
std::optional<EngineRemark> unknown_names(const HostSpec& host, const EngineInfo& engine) {
    const auto& known = engine.cdi_devices;
    std::string unknown;
    for (const auto& device : host.gpus.devices) {
        const auto name = is_cdi_name(device) ? device : std::string(nvidia_cdi_kind) + device;
        if (std::ranges::find(known, name) == known.end()) {
            unknown += (unknown.empty() ? "" : ", ") + name;
        }
    }
    if (host.gpus.kind == GpuSpec::Kind::all && !knows_device(engine, "all")) {
        unknown = std::string(nvidia_cdi_kind) + "all";
    }
    if (known.empty() || unknown.empty()) { // older engines do not tell which they have
        return std::nullopt;
    }
    constexpr std::size_t most = 12;
    std::vector<std::string> there;
    std::ranges::transform(known, std::back_inserter(there), printable);
    return EngineRemark{
        fmt::format("the host has no CDI device {}; it has {}", unknown, first_names(there, most)),
        "name one of these, or regenerate the host's CDI file (nvidia-ctk cdi generate "
        "--output=/etc/cdi/nvidia.yaml)"};
}

} // namespace

EngineAbilities abilities_of(const EngineInfo& engine) {
    EngineAbilities able;
    if (engine.podman) {
        able.gpu_hook = false;
        able.cdi = version_of(engine.version) >= first_podman_with_cdi;
        able.runtimes = false;
        able.refuses_mounts = false;
        able.volume_options = true;
    } else {
        able.cdi = engine.api >= first_docker_with_cdi && !engine.cdi_spec_dirs.empty();
        // RootlessKit's network namespace, or that of a virtual machine: with no address of the host.
        able.host_network = !engine.rootless && !is_desktop(engine);
    }
    able.raises_limits = !engine.rootless;
    able.without_gains = starts_without_gains(engine);
    able.selinux = engine.selinux;
    able.labels = engine.selinux || engine.podman; // Podman 4 does not tell of SELinux
    return able;
}

bool asks_for_nvidia(const GpuSpec& gpus) {
    return gpus.kind != GpuSpec::Kind::none && !(gpus.kind == GpuSpec::Kind::count && gpus.count == 0) &&
           !gpus.amd;
}

bool asks_for_amd(const GpuSpec& gpus) {
    const auto& devices = gpus.devices;
    return gpus.amd || (!devices.empty() && std::ranges::all_of(devices, is_of_amd));
}

bool may_have_imex(const EngineInfo& engine) {
    return go_architecture(engine.architecture) == "arm64";
}

bool is_cdi_name(std::string_view device) {
    return device.find('=') != std::string_view::npos;
}

bool uses_cdi(const HostSpec& host, const EngineInfo& engine) {
    if (host.cdi) {
        return *host.cdi;
    }
    return has_cdi_names(host) || engine.podman ||
           (asks_for_nvidia(host.gpus) && knows_all_of(host.gpus, engine) &&
            std::ranges::find(engine.runtimes, "nvidia") == engine.runtimes.end());
}

bool may_change_way(const HostSpec& host, const EngineInfo& engine) {
    return !host.cdi && !has_cdi_names(host) && !engine.podman && asks_for_nvidia(host.gpus);
}

bool runs_on(const ImageDetails& image, const EngineInfo& engine) {
    const auto host = go_architecture(engine.architecture);
    return host.empty() || image.architecture.empty() || image.architecture == host;
}

std::string other_architecture(const ImageDetails& image, const EngineInfo& engine) {
    return fmt::format("the image is for {}, the host is {}", printable(image.architecture),
                       printable(engine.architecture));
}

std::string engine_name(const EngineInfo& engine) {
    return fmt::format("{} {}{}", engine.podman ? "Podman" : "Engine", engine.version,
                       engine.rootless ? ", rootless" : "");
}

EngineVerdict judge_engine(const ClusterSpec& spec, const HostSpec& host, const EngineInfo& engine,
                           const ImageDetails* image) {
    EngineVerdict verdict;
    const auto able = abilities_of(engine);
    const auto name = engine_name(engine);
    if (!engine.os_type.empty() && engine.os_type != "linux") {
        verdict.errors.push_back({"the engine runs " + engine.os_type + " containers",
                                  "dockdist needs a Linux engine on every host"});
    }
    if (engine.podman && version_of(engine.version) < oldest_podman) {
        verdict.errors.push_back({name +
                                      " is too old: its Docker-compatible API refuses to create a node (no "
                                      "container may turn its image's healthcheck off)",
                                  "upgrade Podman on that host to 4.3 or newer, or use Docker there"});
        return verdict;
    }
    if (asks_for_nvidia(host.gpus)) {
        const bool cdi = uses_cdi(host, engine);
        if (!(cdi ? able.cdi : able.gpu_hook)) {
            verdict.errors.push_back(no_gpus(host, engine, able));
        } else if (auto unknown = cdi ? unknown_names(host, engine) : std::nullopt) {
            verdict.errors.push_back(std::move(*unknown));
        }
        if (auto remark = cdi ? std::nullopt : judge_capabilities(spec, host, image)) {
            verdict.warnings.push_back(std::move(*remark));
        }
    }
    if (std::ranges::any_of(host.gpus.devices, is_of_amd) && !asks_for_amd(host.gpus)) {
        verdict.warnings.push_back({"`gpus` names GPUs of AMD beside others: jobs are only given the others",
                                    "name those of one vendor"});
    }
    if (!spec.container.runtime.empty() && !able.runtimes) {
        verdict.errors.push_back(
            {name + " ignores `container.runtime`",
             "remove it, or use Docker on that host; Podman's runtime is set in the host's containers.conf"});
    }
    if (engine.remaps_users) {
        verdict.errors.push_back(
            {name + " remaps users (`userns-remap`): remapped containers cannot use the "
                    "host's network, which every node needs",
             "take `userns-remap` out of the host's /etc/docker/daemon.json and restart Docker (existing "
             "images and containers are hidden then), or use rootless Podman there"});
    }
    const bool with_others = (is_desktop(engine) || !able.host_network) && has_other_engines(spec, host);
    if (is_desktop(engine) && with_others) {
        verdict.errors.push_back(
            {name + " is Docker Desktop's: its containers run in a virtual machine, whose address no other "
                    "machine reaches, so that no other node reaches this one",
             "use that machine alone, or give it Docker Engine itself, or Podman"});
    } else if (!able.host_network && with_others) {
        verdict.errors.push_back(
            {name + ": the host network of its containers is RootlessKit's, which has no address of the "
                    "host, so "
                    "that no other node reaches this one",
             "use that host's system-wide Docker, or rootless Podman, whose host network is the host's own"});
    }
    if (!able.raises_limits && wants_unlimited(spec.container)) {
        verdict.warnings.push_back(
            {name +
                 " cannot raise limits above those of its user, and `container.ulimits` asks for unlimited",
             "if the node does not start: raise the user's limit on that host (/etc/security/limits.conf), "
             "or set "
             "`container.ulimits.memlock`"});
    }
    if (!able.refuses_mounts && mounts_folders(spec.container)) {
        verdict.warnings.push_back({name + " creates a folder of `container.mounts` that is missing on its "
                                           "host, where Docker refuses to",
                                    "make sure that the folders exist"});
    } else if (able.selinux && mounts_labelled(spec.container)) {
        verdict.warnings.push_back(
            {name + " makes a folder of `container.mounts` with `z` or `Z` if it is missing on its host",
             "make sure that the folders exist"});
    }
    const bool labelled = is_labelled(spec.container);
    if (const auto* mount = able.selinux && labelled ? contested_folder(spec, host) : nullptr) {
        verdict.errors.push_back(
            {fmt::format("with SELinux, `Z` gives {} to one container alone: of the nodes of this "
                         "machine the last one takes it from the others",
                         mount->source),
             "write `z`, which lets all containers of the host in"});
    }
    if (const auto folder = able.selinux && labelled ? unlabelled_folder(spec.container) : "";
        !folder.empty()) {
        verdict.warnings.push_back(
            {fmt::format(
                 "SELinux is on in {}: its nodes reach {} only where the folder's label lets containers in",
                 name, folder),
             "if they are refused: `SOURCE:TARGET:z` gives the folder such a label, for all containers of "
             "the "
             "host; of NFS, `setsebool -P virt_use_nfs 1` there lets them in"});
    }
    return verdict;
}

std::optional<EngineRemark> judge_access(const HostSpec& host) {
    if (host.docker.scheme != EngineAddress::Scheme::tcp || host.docker.host.empty()) {
        return std::nullopt;
    }
    return EngineRemark{
        "jobs share the host's network and reach its engine, which requires no authentication: each "
        "can become root on the host",
        "let it listen on a unix socket and reach it by ssh://, or give it TLS (`tls:`); else "
        "run only jobs and images that are fully trusted"};
}

} // namespace dockdist
