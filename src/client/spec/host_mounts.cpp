#include "client/spec/host_mounts.hpp"

#include "shared/core/path.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace dockdist {
namespace {

using namespace std::string_view_literals;

// As the host would find it; /var/run is /run on every host of today.
std::string plain_path(const std::string& source) {
    auto path = normal_path(source);
    return path == "/var/run" || path.starts_with("/var/run/") ? path.substr(4) : path;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& paths, std::string_view path) {
    return std::ranges::find(paths, path) != paths.end();
}

template <std::size_t N>
bool is_in_one_of(const std::array<std::string_view, N>& folders, std::string_view path) {
    return std::ranges::any_of(folders, [&](std::string_view folder) { return is_in_folder(path, folder); });
}

template <std::size_t N>
bool has_component_of(const std::array<std::string_view, N>& names, std::string_view path) {
    return std::ranges::any_of(std::filesystem::path(path), [&](const std::filesystem::path& component) {
        return is_one_of(names, component.string());
    });
}

// A socket that is mounted read-only takes writes like any other.
bool holds_an_engine(std::string_view path) {
    constexpr std::array sockets{"docker.sock"sv, "podman.sock"sv,    "containerd.sock"sv,
                                 "crio.sock"sv,   "buildkitd.sock"sv, "cri-dockerd.sock"sv};
    constexpr std::array exactly{"/run"sv};
    constexpr std::array folders{"/run/docker"sv, "/run/podman"sv, "/run/containerd"sv, "/run/crio"sv,
                                 "/run/user"sv};
    return is_one_of(sockets, path.substr(path.rfind('/') + 1)) || is_one_of(exactly, path) ||
           is_in_one_of(folders, path);
}

bool holds_containers(std::string_view path) {
    constexpr std::array exactly{"/var"sv, "/var/lib"sv};
    constexpr std::array folders{"/var/lib/docker"sv, "/var/lib/containerd"sv, "/var/lib/containers"sv,
                                 "/var/lib/kubelet"sv};
    return is_one_of(exactly, path) || is_in_one_of(folders, path);
}

bool holds_keys(std::string_view path, bool read_only) {
    constexpr std::array folders{"/etc"sv};
    // What everybody on a host may read, and many a job has to.
    constexpr std::array open{"/etc/localtime"sv,     "/etc/timezone"sv,     "/etc/hosts"sv,
                              "/etc/resolv.conf"sv,   "/etc/os-release"sv,   "/etc/ssl/certs"sv,
                              "/etc/pki/tls/certs"sv, "/etc/pki/ca-trust"sv, "/etc/ca-certificates"sv,
                              "/etc/libibverbs.d"sv,  "/etc/ld.so.conf.d"sv, "/etc/OpenCL"sv,
                              "/etc/vulkan"sv,        "/etc/nccl.conf"sv};
    constexpr std::array exactly{"/root"sv};
    constexpr std::array names{".ssh"sv, ".gnupg"sv, ".kube"sv, ".docker"sv, ".aws"sv};
    return (is_in_one_of(folders, path) && !(read_only && is_in_one_of(open, path))) ||
           is_one_of(exactly, path) || has_component_of(names, path);
}

// /sys is in every container, read-only; some tools want the host's /proc to read it.
bool holds_the_kernel(std::string_view path, bool read_only) {
    constexpr std::array always{"/proc"sv};
    constexpr std::array writable{"/sys"sv};
    return is_in_one_of(always, path) || (!read_only && is_in_one_of(writable, path));
}

} // namespace

std::optional<HostMountRemark> judge_host_mount(const std::string& source, bool read_only) {
    const auto path = plain_path(source);
    constexpr auto fewer = "mount the folders that jobs need"sv;
    if (holds_an_engine(path)) {
        return HostMountRemark{"gives every job access to the engine, and so root on the host",
                               "mount it only where jobs and images are fully trusted"};
    }
    if (path == "/") {
        return HostMountRemark{"gives every job the host's whole file system", fewer};
    }
    if (holds_containers(path)) {
        return HostMountRemark{"gives every job the files of every container there", fewer};
    }
    if (holds_keys(path, read_only)) {
        return HostMountRemark{"gives every job the host's accounts and keys",
                               "mount the files that jobs need, read-only"};
    }
    if (holds_the_kernel(path, read_only)) {
        return HostMountRemark{"gives every job the host's processes and kernel settings",
                               "leave it out: a container has its own"};
    }
    if (path == "/dev") {
        return HostMountRemark{"gives every job the host's devices, its disks among them",
                               "leave it out: `gpus` and `devices` bring those that jobs need"};
    }
    return std::nullopt;
}

} // namespace dockdist
