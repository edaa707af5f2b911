#include "client/engine/engine_error.hpp"

#include "client/engine/json_decode.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

struct KnownMessage {
    std::string_view part{}; // lower case
    std::string_view hint{};
    std::string_view of_podman{}; // the hint where the engine is Podman; empty: the same
};

constexpr std::string_view docker_limits =
    "the Docker daemon on that host may not raise this limit: set `container.ulimits.memlock` to what it "
    "allows, or give its systemd unit LimitMEMLOCK=infinity";
constexpr std::string_view podman_limits =
    "Podman on that host may not raise this limit: set `container.ulimits.memlock`, and `nofile` and "
    "`nproc`, which Podman raises unless they are set, to what it allows";

constexpr std::string_view no_programs =
    "that host lets no program run from a volume: is the engine's folder (docker info: Docker Root Dir) "
    "mounted `noexec`, or does SELinux forbid it?";
constexpr std::string_view no_programs_podman =
    "that host lets no program run from a volume: is Podman's folder (podman info: volumePath) mounted "
    "`noexec`, or does SELinux forbid it?";

// In order: the first that fits is taken.
constexpr auto known_messages = std::to_array<KnownMessage>({
    {R"(could not select device driver "cdi")",
     R"(CDI is off in that engine: write "features": {"cdi": true} into the host's )"
     "/etc/docker/daemon.json and restart Docker, or leave out `cdi:`"},
    {"could not select device driver", "install the NVIDIA Container Toolkit on that host (nvidia-ctk "
                                       "runtime configure --runtime=docker, then restart Docker), "
                                       "set `cdi: true` where it has a CDI file, "
                                       "or write `gpus: none` for it, or `gpus: amd` where they are AMD's"},
    {"unresolvable cdi devices nvidia.com",
     "`nvidia-ctk cdi list` on that host shows the names it has; regenerate its CDI file where GPUs or "
     "their MIG instances have changed (nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml)"},
    {"unresolvable cdi devices",
     "that host has no CDI file (/etc/cdi, /var/run/cdi) with these names: its GPUs' toolkit writes it "
     "(NVIDIA: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml; AMD: amd-ctk cdi generate "
     "--output=/etc/cdi/amd.json)"},
    {"cdi device injection failed",
     "regenerate the host's CDI file (nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml)"},
    {"nvidia-container-cli",
     "the NVIDIA driver or toolkit on that host does not work: does nvidia-smi work there?"},
    {"nvidia-caps-imex-channels",
     "that host has lost its IMEX channel (ls /dev/nvidia-caps-imex-channels): load the driver with "
     "NVreg_CreateImexChannel0=1 again, or recreate the node with `dockdist down` and `dockdist up`, which "
     "does without it"},
    {"/dev/kfd",
     "that host shows no AMD GPU: is its amdgpu driver loaded (ls /dev/kfd)? Else correct `gpus:`"},
    {"libcuda.so.", "the host's CDI file is for another version of the driver: regenerate it (nvidia-ctk cdi "
                    "generate --output=/etc/cdi/nvidia.yaml)"},
    {"libnvidia-", "the host's CDI file is for another version of the driver: regenerate it (nvidia-ctk cdi "
                   "generate --output=/etc/cdi/nvidia.yaml)"},
    {"unknown or invalid runtime name",
     "that runtime is not set up on the host (docker info shows those that are)"},
    {"unknown runtime specified",
     "that runtime is not set up on the host (docker info shows those that are)"},
    {"bind source path does not exist",
     "make that folder on the host (`dockdist data push` makes and fills those of "
     "`data`), or correct `container.mounts`"},
    {"but it is not a shared", // "… or slave mount"
     "on that host the mount that this folder is on is private: `mount --make-rshared` it there, or leave "
     "the propagation out of `container.mounts`"},
    {"rlimit", docker_limits, podman_limits},
    {"error setting ulimit", docker_limits, podman_limits},
    {"when user namespaces are enabled",
     "that engine remaps users (`userns-remap`): take that out of the host's /etc/docker/daemon.json and "
     "restart Docker (existing images and containers are hidden then)"},
    {"relabeling of", // "SELinux relabeling of /etc is not allowed"
     "that folder is one of the system's (/etc, /home, /var and their like), whose label engines leave as it "
     "is: mount one below it, or leave `z` out of `container.mounts`"},
    {"error setting label on mount source",
     "that folder's file system takes no label for SELinux: leave `z` out of `container.mounts`"},
    {"relabel failed", // of Podman, often followed by "operation not permitted"
     "Podman may not give that folder a label for SELinux (is it its user's own?): leave `z` out of "
     "`container.mounts`"},
    {"client version",
     "this engine is too old or too new for this dockdist; dockdist speaks API 1.40 to 1.51"},
    {"toomanyrequests", "the registry limits anonymous pulls: log in (docker login), or use a mirror"},
    {"pull access denied", "check the image's name, and log in to its registry (docker login)"},
    {"unauthorized", "log in to the registry (docker login)"},
    {"manifest unknown", "the registry has no such tag: check `image:`"},
    {"no matching manifest", "the image is not made for that host's architecture: see `image.platform`"},
    {"no basic auth credentials", "log in to the registry (docker login)"},
    {"name unknown", "the registry has no such repository: check `image:`"},
    {"repository name not known", "the registry has no such repository: check `image:`"},
    {"verification failed", "what arrived does not match its digest: pull again; if "
                            "that does not help, the copy of the registry or "
                            "of a proxy in front of it is damaged"},
    {"dial tcp: lookup", "that host cannot resolve the registry's name: check its DNS and network"},
    {"unexpected eof", "the connection to the registry was cut in the middle: run the command "
                       "again, complete layers are kept"},
    {"connection reset by peer", "the connection to the registry was cut: run the command again"},
    {"server gave http response to https client",
     "that registry has no TLS: name it in `insecure-registries` of the host's /etc/docker/daemon.json",
     "that registry has no TLS: give it a [[registry]] with `insecure = true` in the host's "
     "/etc/containers/registries.conf"},
    {"certificate signed by unknown authority",
     "put the registry's CA on that host: /etc/docker/certs.d/REGISTRY/ca.crt",
     "put the registry's CA on that host: /etc/containers/certs.d/REGISTRY/ca.crt"},
    {"connection refused",
     "nothing listens at that registry's address: is it up, and reachable from that host?"},
    {"tls handshake timeout", "the registry does not answer that host: check its network and proxy"},
    {"i/o timeout", "the registry does not answer that host: check its network and proxy"},
    {"client.timeout exceeded", "the registry does not answer that host: check its network and proxy"},
    {"too many requests", "the registry limits pulls: log in (docker login), or wait"},
    {"denied: requested access", "check the image's name, and log in to its registry (docker login)"},
    {"no such image", "pull it on that host, or let dockdist do it (`image.pull: missing`)"},
    {"no such host", "that host cannot resolve the registry's name: check its DNS and network"},
    {"address already in use", "another program holds that port: choose another one in cluster.yaml"},
    {"port is already allocated", "another container holds that port: choose another one in cluster.yaml"},
    {"is already in use by",
     "a container of that name is there already: another cluster of the same name? choose another `name:`"},
    {"no space left on device", "free disk space on that host (docker system df)",
     "free disk space on that host (podman system df)"},
    {"dockdist-init: permission denied", no_programs, no_programs_podman},
    {"dockdist-init\": permission denied", no_programs, no_programs_podman},
    {"unable to create manifests file",
     "that engine (containerd's store, the default of Docker 29) has the image unpacked, but not its layers "
     "as they arrived, so that it cannot pass them on: `docker pull` it there again, or name another host in "
     "`image.from`"},
    {"rejected by policy",
     "/etc/containers/policy.json on that host says which registries it accepts: add this one there, "
     "or ask the host's administrator to"},
    {"policy.json", "Podman on that host accepts no image without an /etc/containers/policy.json: "
                    "the package containers-common provides one"},
    {"permission denied",
     "the engine may not do that on its host (rootless Docker, SELinux, or the file's owner?)",
     "Podman may not do that on its host (rootless, SELinux, or the file's owner?)"},
    {"cannot allocate memory", "the host is out of memory"},
});

constexpr std::string_view denied_by = "authorization denied by plugin "; // "NAME: MESSAGE", with status 403
constexpr std::string_view plugin = "plugin ";                            // "NAME failed with error: …", 500
constexpr std::string_view broken = " failed with error: AuthZPlugin.";

} // namespace

std::string authorization_hint(std::string_view message, const std::string& request) {
    if (message.starts_with(denied_by)) {
        message.remove_prefix(denied_by.size());
        return fmt::format(
            "ask the administrator of that host to let its authorization plugin {} pass this call{}{}",
            printable(message.substr(0, message.find(':'))), request.empty() ? "" : ": ", request);
    }
    if (const auto end = message.find(broken); message.starts_with(plugin) && end != std::string_view::npos) {
        return fmt::format(
            "tell the administrator of that host that its authorization plugin {} does not work: nothing "
            "passes without it",
            printable(message.substr(plugin.size(), end - plugin.size())));
    }
    return {};
}

std::string request_in_words(const HttpRequest& request) {
    constexpr std::size_t digits_of_an_id = 64;
    auto parts = split(request.target.substr(0, request.target.find('?')), '/');
    for (auto& part : parts) {
        if (part.size() == digits_of_an_id &&
            part.find_first_not_of("0123456789abcdef") == std::string::npos) {
            part = "ID";
        }
    }
    return fmt::format("{} {}", request.method, fmt::join(parts, "/"));
}

std::string engine_hint(std::string_view message, bool podman) {
    const auto lower = to_lower(message);
    const auto found = std::ranges::find_if(known_messages, [&](const KnownMessage& known) {
        return lower.find(known.part) != std::string::npos;
    });
    if (found == known_messages.end()) {
        return {};
    }
    return std::string(podman && !found->of_podman.empty() ? found->of_podman : found->hint);
}

Error engine_error(const HttpResponse& response, const AskedCall& call) {
    const auto& what = call.what;
    const int status = response.status;
    if (status >= 300 && status < 400 && status != 304) {
        return {
            ErrorKind::protocol, "",
            fmt::format(
                "{}: answered by a redirect ({} to '{}'), which no Docker engine does for a valid request",
                what, status, printable(find_header(response.headers, "Location"))),
            "check the host's address: a web server or a proxy may stand there"};
    }
    Error error;
    const auto message = decode_error_message(response.body);
    // Podman before 6.0 answers 500 where Docker answers 409.
    const bool name_taken = message.find("that name is already in use") != std::string::npos;
    error.kind = status == 404                 ? ErrorKind::not_found
                 : status == 409 || name_taken ? ErrorKind::conflict
                                               : ErrorKind::engine;
    error.message = message.empty() ? fmt::format("{}: the engine answered with status {}", what, status)
                                    : fmt::format("{}: {}", what, message);
    error.hint = authorization_hint(message, call.request);
    if (error.hint.empty()) {
        error.hint = engine_hint(message, call.podman);
    }
    return error;
}

} // namespace dockdist
