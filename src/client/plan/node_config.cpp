#include "client/plan/node_config.hpp"

#include "client/container/confine.hpp"
#include "client/plan/driver_capabilities.hpp"
#include "client/plan/labels.hpp"
#include "shared/gpu/kfd.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

// What a node's root keeps: for dockdist-init and sshd, which change to users, give them their files, end
// their processes and shut sshd's unprivileged half in an empty folder; for apt-get and its like. Without
// AUDIT_WRITE sshd ends every session with a terminal where the kernel keeps an audit log. Of those that
// Docker gives by itself MKNOD is gone, and NET_RAW and NET_BIND_SERVICE, which on the host's network reach
// all of its traffic and its port 22.
constexpr std::array node_capabilities{"AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE", "FOWNER", "FSETID",    "KILL",
                                       "SETFCAP",     "SETGID", "SETPCAP",      "SETUID", "SYS_CHROOT"};
constexpr int first_free_port = 1024;

constexpr const char* default_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// By NVIDIA's hook; a CDI file names what it gives.
bool gets_driver(const NodeConfigInput& input) {
    return !input.cdi && asks_for_nvidia(input.node.gpus);
}

// The toolkit stands first in PATH for `docker exec` too, so the container's own environment has to say so.
std::vector<std::string> environment(const NodeConfigInput& input) {
    std::map<std::string, std::string> env = input.spec.container.env;
    for (const auto& [name, value] : input.spec.hosts[input.node.host].env) {
        env[name] = value;
    }
    if (gets_driver(input) && !env.contains(driver_capabilities_variable)) {
        if (auto capabilities = driver_capabilities(input.image); !capabilities.empty()) {
            env[driver_capabilities_variable] = std::move(capabilities);
        }
    }
    const auto& devices = input.spec.container.devices; // by their names, they are asked for as well
    if (asks_for_amd(input.node.gpus) ||
        std::ranges::any_of(devices, [](const auto& device) { return device.starts_with(amd_device); })) {
        env[amd_asked_variable] = "1";
    }
    auto& path = env["PATH"];
    path = std::string(layout::toolkit_bin) + ":" +
           (path.empty() ? image_value(input.image, "PATH").value_or(default_path) : path);
    std::vector<std::string> lines;
    for (const auto& [name, value] : env) {
        lines.push_back(name + "=" + value);
    }
    return lines;
}

std::vector<DeviceRequest> device_requests(const NodeSpec& node, bool cdi) {
    DeviceRequest request{.driver = cdi ? "cdi" : ""};
    if (node.gpus.amd) {
        return {};
    }
    const std::string kind(nvidia_cdi_kind);
    switch (node.gpus.kind) {
    case GpuSpec::Kind::none:
        return {};
    case GpuSpec::Kind::all:
        if (cdi) {
            request.device_ids = {kind + "all"};
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
                request.device_ids.push_back(kind + std::to_string(i));
            }
        } else {
            request.count = node.gpus.count;
        }
        break;
    case GpuSpec::Kind::devices:
        for (const auto& device : node.gpus.devices) {
            request.device_ids.push_back(cdi && !is_cdi_name(device) ? kind + device : device);
        }
        break;
    }
    return {request};
}

// Which root alone enters; what all nodes of a host share is below it.
Mount shut_folder() {
    return {.type = Mount::Type::tmpfs, .target = layout::shared, .tmpfs_options = "mode=0700,size=64k"};
}

std::vector<Mount> mounts(const NodeConfigInput& input) {
    std::vector<Mount> result;
    result.push_back({.type = Mount::Type::volume,
                      .source = labels::toolkit_volume_prefix + input.toolkit_version,
                      .target = layout::toolkit,
                      .read_only = true, // shared by every node of the host; only the upload writes to it
                      .volume_labels = {{labels::version, input.toolkit_version}}});
    result.push_back(shut_folder());
    result.push_back({.type = Mount::Type::volume,
                      .source = labels::gpu_volume,
                      .target = layout::gpus,
                      .volume_labels = {{labels::role, "gpus"}},
                      .data_only = input.engine.volume_options});
    const auto &cluster = input.spec.name.str(), &node = input.node.name.str();
    result.push_back({.type = Mount::Type::volume,
                      .source = labels::store_volume(cluster, node),
                      .target = layout::store,
                      .volume_labels = labels::store_labels(cluster, node, input.origin),
                      .data_only = input.engine.volume_options});
    result.push_back(
        {.type = Mount::Type::tmpfs, .target = layout::run, .tmpfs_options = "mode=0755,size=64m"});
    for (const auto& mount : input.spec.container.mounts) {
        const auto type = mount.source.starts_with('/') ? Mount::Type::bind : Mount::Type::volume;
        result.push_back({.type = type,
                          .source = mount.source,
                          .target = mount.target,
                          .read_only = mount.read_only,
                          // Without SELinux it says nothing, and Docker refuses a missing folder.
                          .selinux = input.engine.labels ? mount.selinux : "",
                          .propagation = mount.propagation,
                          .no_copy = mount.no_copy});
    }
    return result;
}

// One that not every host has: where the engine refuses a missing device at start only, a mount of it that it
// refuses at create.
void add_device(ContainerConfig& config, const NodeConfigInput& input, const char* path, const char* target) {
    config.devices.emplace_back(path);
    if (input.engine.refuses_mounts) {
        config.mounts.push_back(
            {.type = Mount::Type::bind, .source = path, .target = target, .read_only = true});
    }
}

void add_capability(ContainerConfig& config, const std::string& name) {
    auto& list = config.cap_add;
    if (std::ranges::find(list, name) == list.end() && std::ranges::find(list, "ALL") == list.end()) {
        list.push_back(name);
    }
}

bool runs_as_root(const ContainerSpec& container) {
    const auto user = container.user.substr(0, container.user.find(':'));
    return user.empty() || user == "root" || user == "0";
}

void set_rights(ContainerConfig& config, const ClusterSpec& spec, const EngineAbilities& engine) {
    const auto& container = spec.container;
    config.privileged = container.privileged;
    config.cap_add = container.cap_add;
    config.no_new_privileges = container.no_new_privileges.value_or(
        runs_as_root(container) && !container.privileged && engine.without_gains);
    if (container.privileged || std::ranges::find(container.cap_add, "ALL") != container.cap_add.end()) {
        return;
    }
    config.cap_drop = {"ALL"};
    for (const auto* name : node_capabilities) {
        add_capability(config, name);
    }
    if (spec.ssh.port && spec.ssh.port->number < first_free_port) {
        add_capability(config, "NET_BIND_SERVICE");
    }
}

} // namespace

ContainerConfig node_config(const NodeConfigInput& input, bool rdma) {
    const auto& container = input.spec.container;
    ContainerConfig config;
    config.image = input.spec.image.ref;
    config.platform = input.spec.image.platform;
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
        config.ulimits.push_back(
            {.name = name, .soft = limit.soft, .hard = limit.hard, .if_allowed = limit.automatic});
    }
    config.devices = container.devices;
    config.device_requests = device_requests(input.node, input.cdi);
    if (input.node.gpus.amd) {
        config.devices.insert(config.devices.end(), {amd_device, "/dev/dri"});
    }
    set_rights(config, input.spec, input.engine);
    config.pids_limit = container.pids_limit;
    config.disable_healthcheck = true;
    config.stdin_once = true; // the first join is said there, shared/wire/join.hpp
    config.stop_timeout = node_stop_timeout;
    // Read back by `observe`: the node's record stands in the log whatever the daemon's default driver is.
    config.log_driver = "json-file";
    config.log_options = {{"max-size", "1m"}, {"max-file", "2"}};
    if (rdma) {
        add_device(config, input, "/dev/infiniband", "/run/dockdist.infiniband");
        add_capability(config, "IPC_LOCK");
    }
    return config;
}

void add_beside(ContainerConfig& config, const NodeConfigInput& input) {
    const auto lacks = [&](const std::string& variable) {
        return std::ranges::none_of(config.env, [&](const auto& line) { return line.starts_with(variable); });
    };
    const auto capabilities = std::string(driver_capabilities_variable) + "=";
    if (gets_driver(input) && gets_default_capabilities(input.image) && lacks(capabilities)) {
        config.env.push_back(capabilities + needed_capabilities);
    }
    // Where NVIDIA's runtime is the engine's own one it gives what the image says, which mostly is `all`.
    const std::string visible = "NVIDIA_VISIBLE_DEVICES=";
    if (!asks_for_nvidia(input.node.gpus) && config.runtime.empty() && lacks(visible) &&
        (input.image == nullptr || image_value(input.image, "NVIDIA_VISIBLE_DEVICES"))) {
        config.env.push_back(visible + "void");
    }
    if (input.imex) {
        add_device(config, input, imex_channel, "/run/dockdist.imex");
    }
}

ContainerConfig without_imex(ContainerConfig config) {
    std::erase(config.devices, imex_channel);
    std::erase_if(config.mounts, [](const Mount& mount) { return mount.source == imex_channel; });
    return config;
}

ContainerConfig toolkit_upload_config(const ImageSpec& image, const std::string& toolkit_version) {
    ContainerConfig config;
    config.image = image.ref;
    config.platform = image.platform;
    config.entrypoint = {layout::init};
    config.network_mode = "none";
    config.mounts = {{.type = Mount::Type::volume,
                      .source = labels::toolkit_volume_prefix + toolkit_version,
                      .target = layout::toolkit,
                      .volume_labels = {{labels::version, toolkit_version}}}};
    config.disable_healthcheck = true;
    confine(config); // it is never started, and should not be worth starting
    return config;
}

ContainerConfig gpu_look_config(const ImageSpec& image, const std::string& toolkit_version, HelperGpus gpus,
                                std::int64_t in_use_mib) {
    ContainerConfig config;
    config.image = image.ref;
    config.platform = image.platform;
    config.user = "0:0";
    config.entrypoint = {layout::init};
    config.command = {"gpus", "--in-use", std::to_string(in_use_mib)};
    config.env = {
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}; // an image may say that it needs no nvidia-smi
    config.network_mode = "none";
    config.mounts = {{.type = Mount::Type::volume,
                      .source = labels::toolkit_volume_prefix + toolkit_version,
                      .target = layout::toolkit,
                      .read_only = true,
                      .volume_labels = {{labels::version, toolkit_version}}}};
    switch (gpus) {
    case HelperGpus::none:
        break;
    case HelperGpus::by_hook:
        config.device_requests = {{.count = -1}};
        break;
    case HelperGpus::by_cdi:
        config.device_requests = {{.driver = "cdi", .device_ids = {std::string(nvidia_cdi_kind) + "all"}}};
        break;
    case HelperGpus::amd:
        config.devices = {amd_device, "/dev/dri"};
        config.env.push_back(std::string(amd_asked_variable) + "=1");
        break;
    }
    config.disable_healthcheck = true;
    config.log_driver = "json-file"; // what it says is read there
    confine(config);
    return config;
}

void show_board(ContainerConfig& config) {
    config.mounts.push_back(shut_folder());
    config.mounts.push_back({.type = Mount::Type::volume,
                             .source = labels::gpu_volume,
                             .target = layout::gpus,
                             .read_only = true,
                             .volume_labels = {{labels::role, "gpus"}}});
}

ContainerConfig store_reader_config(const ImageSpec& image, const std::string& toolkit_version,
                                    const std::string& volume) {
    ContainerConfig config;
    config.image = image.ref;
    config.platform = image.platform;
    config.user = "0:0";
    config.entrypoint = {layout::init};
    config.command = {"relay", "hold"};
    config.network_mode = "none";
    config.mounts = {
        {.type = Mount::Type::volume,
         .source = labels::toolkit_volume_prefix + toolkit_version,
         .target = layout::toolkit,
         .read_only = true,
         .volume_labels = {{labels::version, toolkit_version}}},
        {.type = Mount::Type::volume, .source = volume, .target = layout::store, .read_only = true}};
    config.disable_healthcheck = true;
    confine(config);
    return config;
}

} // namespace dockdist
