#include "engine/engine_error.hpp"

#include "core/ascii.hpp"
#include "core/text.hpp"
#include "engine/json_decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

struct KnownMessage {
    std::string_view part; // lower case
    std::string_view hint;
};

// In order: the first that fits is taken.
constexpr std::array<KnownMessage, 38> known_messages{{
    {"could not select device driver", "install the NVIDIA Container Toolkit on that host (nvidia-ctk "
                                       "runtime configure --runtime=docker, then restart Docker), "
                                       "or write `gpus: none` for it"},
    {"unresolvable cdi devices", "generate the host's CDI file (nvidia-ctk cdi generate "
                                 "--output=/etc/cdi/nvidia.yaml), or leave out `cdi:`"},
    {"cdi device injection failed", "generate the host's CDI file (nvidia-ctk cdi generate "
                                    "--output=/etc/cdi/nvidia.yaml), or leave out `cdi:`"},
    {"nvidia-container-cli",
     "the NVIDIA driver or toolkit on that host is not in order: does nvidia-smi work there?"},
    {"unknown or invalid runtime name",
     "that runtime is not set up on the host (docker info shows those that are)"},
    {"unknown runtime specified",
     "that runtime is not set up on the host (docker info shows those that are)"},
    {"bind source path does not exist",
     "make that folder on the host (`dockdist data push` makes and fills those of "
     "`data`), or correct `container.mounts`"},
    {"error setting rlimit",
     "the Docker daemon on that host may not raise this limit: set "
     "`container.ulimits.memlock` to what it allows, or give its "
     "systemd unit LimitMEMLOCK=infinity; Podman raises `nofile` and `nproc` too, unless "
     "`container.ulimits` sets them"},
    {"error setting ulimit", "the Docker daemon on that host may not raise this limit: set "
                             "`container.ulimits.memlock` to what it allows"},
    {"rlimit",
     "the engine on that host may not raise this limit: set `container.ulimits.memlock` (with Podman also "
     "`nofile` and `nproc`, which it raises unless they are set) to what it allows"},
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
    {"verification failed", "what arrived is not what its digest says: pull again; if it stays so, the "
                            "registry or a proxy before it "
                            "has it damaged"},
    {"unexpected eof", "the connection to the registry was cut in the middle: run the command again, layers "
                       "that are complete stay"},
    {"connection reset by peer", "the connection to the registry was cut: run the command again"},
    {"server gave http response to https client",
     "that registry has no TLS: name it in `insecure-registries` of the host's /etc/docker/daemon.json"},
    {"certificate signed by unknown authority",
     "put the registry's CA on that host: /etc/docker/certs.d/REGISTRY/ca.crt"},
    {"connection refused",
     "nothing listens at that registry's address: is it up, and reachable from that host?"},
    {"tls handshake timeout", "the registry does not answer that host: check its network and proxy"},
    {"i/o timeout", "the registry does not answer that host: check its network and proxy"},
    {"client.timeout exceeded", "the registry does not answer that host: check its network and proxy"},
    {"too many requests", "the registry limits pulls: log in (docker login), or wait"},
    {"denied: requested access", "check the image's name, and log in to its registry (docker login)"},
    {"no such image", "pull it on that host, or let dockdist do so (`image.pull: missing`)"},
    {"no such host", "that host cannot resolve the registry's name: check its DNS and network"},
    {"address already in use", "another program holds that port: choose another one in cluster.yaml"},
    {"port is already allocated", "another container holds that port: choose another one in cluster.yaml"},
    {"is already in use by",
     "a container of that name is there already: another cluster of the same name? choose another `name:`"},
    {"no space left on device", "free disk space on that host (docker system df)"},
    {"permission denied",
     "the engine may not do that on its host (rootless Docker, SELinux, or the file's owner?)"},
    {"cannot allocate memory", "the host is out of memory"},
}};

} // namespace

std::string engine_hint(std::string_view message) {
    const auto lower = to_lower(message);
    const auto found = std::ranges::find_if(known_messages, [&](const KnownMessage& known) {
        return lower.find(known.part) != std::string::npos;
    });
    return found == known_messages.end() ? std::string() : std::string(found->hint);
}

Error engine_error(const HttpResponse& response, std::string_view what) {
    const int status = response.status;
    if (status >= 300 && status < 400 && status != 304) {
        return {ErrorKind::protocol, "",
                fmt::format(
                    "{}: answered by a redirect ({} to '{}'), which no Docker engine does for a good request",
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
    error.hint = engine_hint(message);
    return error;
}

} // namespace dockdist
