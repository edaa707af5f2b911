#include "plan/node_config.hpp"

#include "core/encode.hpp"
#include "plan/labels.hpp"
#include "wire/layout.hpp"

#include <nlohmann/json.hpp>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr const char* default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string image_path(const ImageDetails* image) {
    if (image != nullptr) {
        for (const auto& variable : image->env) {
            if (variable.starts_with("PATH=")) {
                return variable.substr(5);
            }
        }
    }
    return default_path;
}

// The toolkit stands first in PATH for `docker exec` too, so the container's own environment has to say so.
std::vector<std::string> environment(const NodeConfigInput& input) {
    std::map<std::string, std::string> env = input.spec.container.env;
    for (const auto& [name, value] : input.spec.hosts[input.node.host].env) {
        env[name] = value;
    }
    auto& path = env["PATH"];
    path = std::string(layout::toolkit_bin) + ":" + (path.empty() ? image_path(input.image) : path);
    std::vector<std::string> lines;
    for (const auto& [name, value] : env) {
        lines.push_back(name + "=" + value);
    }
    return lines;
}

std::vector<DeviceRequest> device_requests(const NodeSpec& node, bool cdi) {
    DeviceRequest request{.driver = cdi ? "cdi" : ""};
    switch (node.gpus.kind) {
    case GpuSpec::Kind::none:
        return {};
    case GpuSpec::Kind::all:
        if (cdi) {
            request.device_ids = {"nvidia.com/gpu=all"};
        } else {
            request.count = -1;
        }
        break;
    case GpuSpec::Kind::count:
        if (node.gpus.count == 0) {
            return {};
        }
        if (cdi) {
            for (int i = 0; i < node.gpus.count; ++i) {
                request.device_ids.push_back("nvidia.com/gpu=" + std::to_string(i));
            }
        } else {
            request.count = node.gpus.count;
        }
        break;
    case GpuSpec::Kind::devices:
        for (const auto& device : node.gpus.devices) {
            request.device_ids.push_back(
                cdi && device.find('=') == std::string::npos ? "nvidia.com/gpu=" + device : device);
        }
        break;
    }
    return {request};
}

std::vector<Mount> mounts(const NodeConfigInput& input) {
    std::vector<Mount> result;
    result.push_back({.type = Mount::Type::volume,
                      .source = labels::toolkit_volume_prefix + input.toolkit_version,
                      .target = layout::toolkit,
                      .read_only = true, // shared by every node of the host; only the upload writes to it
                      .volume_labels = {{labels::version, input.toolkit_version}}});
    result.push_back(
        {.type = Mount::Type::tmpfs, .target = layout::run, .tmpfs_options = "mode=0755,size=64m"});
    for (const auto& mount : input.spec.container.mounts) {
        const auto type = mount.source.starts_with('/') ? Mount::Type::bind : Mount::Type::volume;
        result.push_back(
            {.type = type, .source = mount.source, .target = mount.target, .read_only = mount.read_only});
    }
    return result;
}

} // namespace

ContainerConfig node_config(const NodeConfigInput& input, bool rdma) {
    const auto& container = input.spec.container;
    ContainerConfig config;
    config.image = input.spec.image.ref;
    config.hostname = input.node.name.str();
    config.user = "0:0"; // dockdist-init is root; jobs and logins run as container.user
    config.working_dir = container.workdir;
    config.entrypoint = {layout::init};
    config.env = environment(input);
    config.mounts = mounts(input);
    config.network_mode = "host";
    config.ipc_mode = container.ipc;
    config.runtime = container.runtime;
    if (container.ipc != "host") {
        config.shm_size = container.shm_size; // with ipc host the size of /dev/shm is the host's
    }
    for (const auto& [name, limit] : container.ulimits) {
        config.ulimits.push_back({.name = name, .soft = limit.soft, .hard = limit.hard});
    }
    config.devices = container.devices;
    config.device_requests = device_requests(input.node, input.spec.hosts[input.node.host].cdi);
    config.cap_add = container.cap_add;
    config.pids_limit = container.pids_limit;
    config.privileged = container.privileged;
    config.disable_healthcheck = true;
    config.stop_timeout = std::chrono::seconds(10);
    // Read back by `observe`: the node's record stands in the log whatever the daemon's default driver is.
    config.log_driver = "json-file";
    config.log_options = {{"max-size", "1m"}, {"max-file", "2"}};
    if (rdma) {
        config.devices.emplace_back("/dev/infiniband");
        if (input.engine.refuses_mounts) {
            config.mounts.push_back({.type = Mount::Type::bind,
                                     .source = "/dev/infiniband",
                                     .target = "/run/dockdist.infiniband",
                                     .read_only = true});
        }
        if (std::ranges::find(config.cap_add, "IPC_LOCK") == config.cap_add.end()) {
            config.cap_add.emplace_back("IPC_LOCK");
        }
    }
    return config;
}

ContainerConfig toolkit_upload_config(const ImageRef& image, const std::string& toolkit_version) {
    ContainerConfig config;
    config.image = image;
    config.entrypoint = {layout::init};
    config.network_mode = "none";
    config.mounts = {{.type = Mount::Type::volume,
                      .source = labels::toolkit_volume_prefix + toolkit_version,
                      .target = layout::toolkit,
                      .volume_labels = {{labels::version, toolkit_version}}}};
    config.disable_healthcheck = true;
    return config;
}

std::string fingerprint(const ContainerConfig& config) {
    using nlohmann::json;
    json text{
        {"image", config.image.str()},
        {"hostname", config.hostname},
        {"user", config.user},
        {"working_dir", config.working_dir},
        {"entrypoint", config.entrypoint},
        {"command", config.command},
        {"env", config.env},
        {"network", config.network_mode},
        {"ipc", config.ipc_mode},
        {"pid", config.pid_mode},
        {"runtime", config.runtime},
        {"shm", config.shm_size ? config.shm_size->count : 0},
        {"devices", config.devices},
        {"cap_add", config.cap_add},
        {"pids", config.pids_limit.value_or(0)},
        {"privileged", config.privileged},
        {"restart", config.restart_policy},
        {"log", {config.log_driver, config.log_options}},
    };
    for (const auto& mount : config.mounts) {
        text["mounts"].push_back(
            {static_cast<int>(mount.type), mount.source, mount.target, mount.read_only, mount.tmpfs_options});
    }
    for (const auto& limit : config.ulimits) {
        text["ulimits"].push_back({limit.name, limit.soft, limit.hard});
    }
    for (const auto& request : config.device_requests) {
        text["gpus"].push_back({request.driver, request.count, request.device_ids});
    }
    const auto bytes = text.dump(-1, ' ', false, json::error_handler_t::replace);
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
    return to_hex({reinterpret_cast<const char*>(digest.data()), 8});
}

} // namespace dockdist
