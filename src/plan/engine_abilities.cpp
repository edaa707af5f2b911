#include "plan/engine_abilities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
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

bool wants_gpus(const HostSpec& host) {
    return host.gpus.kind != GpuSpec::Kind::none &&
           !(host.gpus.kind == GpuSpec::Kind::count && host.gpus.count == 0);
}

bool mounts_folders(const ContainerSpec& container) {
    return std::ranges::any_of(container.mounts,
                               [](const MountSpec& mount) { return mount.source.starts_with('/'); });
}

bool wants_unlimited(const ContainerSpec& container) {
    return std::ranges::any_of(container.ulimits, [](const auto& limit) { return limit.second.hard < 0; });
}

EngineRemark no_gpus(const HostSpec& host, const EngineInfo& engine, const EngineAbilities& able) {
    const auto name = engine_name(engine);
    if (!host.cdi && able.cdi) {
        return {name + " ignores GPU requests that are not CDI names",
                "set `cdi: true` for this host (its CDI file: nvidia-ctk cdi generate "
                "--output=/etc/cdi/nvidia.yaml), or `gpus: none`"};
    }
    if (engine.podman) {
        return {name + " ignores all GPU requests of its Docker-compatible API",
                "upgrade Podman on that host to 5.4 or newer and set `cdi: true`, use Docker there, or set "
                "`gpus: none`"};
    }
    if (engine.api >= first_docker_with_cdi) {
        return {
            "CDI is off in " + name,
            R"(write "features": {"cdi": true} into the host's /etc/docker/daemon.json and restart Docker, )"
            "or leave out `cdi:`"};
    }
    return {name + " knows no CDI names", "upgrade Docker on that host to 25 or newer, or leave out `cdi:`"};
}

} // namespace

EngineAbilities abilities_of(const EngineInfo& engine) {
    EngineAbilities able;
    if (engine.podman) {
        able.gpu_hook = false;
        able.cdi = version_of(engine.version) >= first_podman_with_cdi;
        able.runtimes = false;
        able.refuses_mounts = false;
    } else {
        able.cdi = engine.api >= first_docker_with_cdi && !engine.cdi_spec_dirs.empty();
        able.host_network = !engine.rootless; // RootlessKit's network namespace, with no address of the host
    }
    able.raises_limits = !engine.rootless;
    return able;
}

std::string engine_name(const EngineInfo& engine) {
    return fmt::format("{} {}{}", engine.podman ? "Podman" : "Engine", engine.version,
                       engine.rootless ? ", rootless" : "");
}

EngineVerdict judge_engine(const ClusterSpec& spec, const HostSpec& host, const EngineInfo& engine) {
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
    if (wants_gpus(host) && !(host.cdi ? able.cdi : able.gpu_hook)) {
        verdict.errors.push_back(no_gpus(host, engine, able));
    }
    if (!spec.container.runtime.empty() && !able.runtimes) {
        verdict.errors.push_back(
            {name + " ignores `container.runtime`",
             "remove it, or use Docker on that host; Podman's runtime is set in the host's containers.conf"});
    }
    if (!able.host_network && spec.hosts.size() > 1) {
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
        verdict.warnings.push_back(
            {name + " makes a folder of `container.mounts` that is missing on its host, where Docker refuses",
             "see to it that the folders are there"});
    }
    return verdict;
}

std::optional<EngineRemark> judge_access(const HostSpec& host) {
    if (host.docker.scheme != EngineAddress::Scheme::tcp || host.docker.host.empty()) {
        return std::nullopt;
    }
    return EngineRemark{
        "jobs share the host's network and reach its engine, which asks for no key: each can be "
        "root on the host",
        "let it listen on a unix socket and reach it by ssh://, or give it TLS (`tls:`); else "
        "run only jobs and images that are trusted wholly"};
}

} // namespace dockdist
