#include "client/engine/json_encode.hpp"

#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

using nlohmann::json;

std::string dump(const json& value) {
    // Text that is not UTF-8 (an environment value may be anything) must not end the program.
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void set(json& object, const char* name, const std::string& text) {
    if (!text.empty()) {
        object[name] = text;
    }
}

template <class T>
void set(json& object, const char* name, const std::vector<T>& list) {
    if (!list.empty()) {
        object[name] = list;
    }
}

json encode_mount(const Mount& mount) {
    json object{{"Type", mount.type == Mount::Type::bind ? "bind" : "volume"},
                {"Target", mount.target},
                {"ReadOnly", mount.read_only}};
    set(object, "Source", mount.source);
    if (mount.type == Mount::Type::volume && !mount.volume_labels.empty()) {
        object["VolumeOptions"] = {{"Labels", mount.volume_labels}};
    }
    if (mount.type == Mount::Type::volume && mount.no_copy) {
        object["VolumeOptions"]["NoCopy"] = true;
    }
    if (mount.type == Mount::Type::bind && !mount.propagation.empty()) {
        object["BindOptions"] = {{"Propagation", mount.propagation}};
    }
    return object;
}

std::string encode_bind(const Mount& mount) {
    std::string options;
    for (const auto& option : {std::string(mount.read_only ? "ro" : ""), mount.selinux, mount.propagation,
                               std::string(mount.data_only ? "nosuid,nodev,noexec" : "")}) {
        options += (option.empty() || options.empty() ? "" : ",") + option;
    }
    return mount.source + ":" + mount.target + (options.empty() ? "" : ":" + options);
}

json encode_device_request(const DeviceRequest& request) {
    json object{{"Driver", request.driver},
                {"Count", request.count},
                {"Capabilities", json::array({json::array({"gpu"})})}};
    set(object, "DeviceIDs", request.device_ids);
    return object;
}

json encode_host_config(const ContainerConfig& config) {
    json host = json::object();
    for (const auto& mount : config.mounts) {
        if (mount.type == Mount::Type::tmpfs) {
            host["Tmpfs"][mount.target] = mount.tmpfs_options;
        } else if (mount.data_only || // what Mounts cannot say
                   (mount.type == Mount::Type::bind && (mount.make_source || !mount.selinux.empty()))) {
            host["Binds"].push_back(encode_bind(mount));
        } else {
            host["Mounts"].push_back(
                encode_mount(mount)); // not Binds, which make a missing folder on the host
        }
    }
    set(host, "NetworkMode", config.network_mode);
    set(host, "IpcMode", config.ipc_mode);
    set(host, "PidMode", config.pid_mode);
    set(host, "Runtime", config.runtime);
    if (config.shm_size) {
        host["ShmSize"] = config.shm_size->count;
    }
    for (const auto& limit : config.ulimits) {
        host["Ulimits"].push_back({{"Name", limit.name}, {"Soft", limit.soft}, {"Hard", limit.hard}});
    }
    for (const auto& device : config.devices) {
        host["Devices"].push_back(
            {{"PathOnHost", device}, {"PathInContainer", device}, {"CgroupPermissions", "rwm"}});
    }
    for (const auto& request : config.device_requests) {
        host["DeviceRequests"].push_back(encode_device_request(request));
    }
    set(host, "CapAdd", config.cap_add);
    set(host, "CapDrop", config.cap_drop);
    if (config.no_new_privileges) {
        host["SecurityOpt"].push_back("no-new-privileges"); // Podman knows no ":true" behind it
    }
    if (config.no_label) {
        host["SecurityOpt"].push_back("label=disable"); // nothing to engines without SELinux
    }
    if (config.read_only_root) {
        host["ReadonlyRootfs"] = true;
    }
    if (config.pids_limit) {
        host["PidsLimit"] = *config.pids_limit;
    }
    if (config.privileged) {
        host["Privileged"] = true;
    }
    if (!config.restart_policy.empty()) {
        host["RestartPolicy"] = {{"Name", config.restart_policy}};
    }
    if (!config.log_driver.empty() || !config.log_options.empty()) {
        host["LogConfig"] = {{"Type", config.log_driver}, {"Config", config.log_options}};
    }
    return host;
}

} // namespace

std::string encode_container(const ContainerConfig& config) {
    json object{{"Image", config.image.str()}};
    set(object, "Hostname", config.hostname);
    set(object, "User", config.user);
    set(object, "WorkingDir", config.working_dir);
    set(object, "Entrypoint", config.entrypoint);
    set(object, "Cmd", config.command);
    set(object, "Env", config.env);
    if (!config.labels.empty()) {
        object["Labels"] = config.labels;
    }
    if (config.stop_timeout) {
        object["StopTimeout"] = config.stop_timeout->count();
    }
    if (config.stdin_once) {
        object["OpenStdin"] = true;
        object["StdinOnce"] = true;
    }
    if (config.disable_healthcheck) {
        object["Healthcheck"] = {{"Test", json::array({"NONE"})}};
    }
    object["HostConfig"] = encode_host_config(config);
    return dump(object);
}

std::string encode_exec(const ExecConfig& config) {
    json object{{"Cmd", config.command}, {"AttachStdin", config.stdin_open},
                {"AttachStdout", true},  {"AttachStderr", true},
                {"Tty", false},          {"Privileged", config.privileged}};
    set(object, "Env", config.env);
    set(object, "User", config.user);
    set(object, "WorkingDir", config.working_dir);
    return dump(object);
}

std::string encode_volume(const std::string& name, const Labels& labels) {
    return dump(json{{"Name", name}, {"Labels", labels}});
}

std::string encode_map(const std::map<std::string, std::string>& map) {
    return map.empty() ? std::string() : dump(map);
}

std::string encode_list(const std::vector<std::string>& list) {
    return list.empty() ? std::string() : dump(list);
}

std::string encode_filters(const std::vector<std::pair<std::string, std::vector<std::string>>>& filters) {
    json object = json::object();
    for (const auto& [name, values] : filters) {
        if (!values.empty()) {
            object[name] = values;
        }
    }
    return object.empty() ? std::string() : dump(object);
}

} // namespace dockdist
