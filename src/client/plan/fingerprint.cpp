#include "client/plan/fingerprint.hpp"

#include "client/plan/labels.hpp"
#include "client/plan/node_config.hpp"
#include "shared/digest/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace dockdist {
namespace {

using nlohmann::json;

// Where the file says it; what is not here it says under the same name, or not at all.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> keys_of_file{
    {{"image", "image.ref"},
     {"platform", "image.platform"},
     {"hostname", "name"},
     {"shm", "container.shm_size"},
     {"ipc", "container.ipc"},
     {"runtime", "container.runtime"},
     {"devices", "container.devices"},
     {"cap_add", "container.cap_add"},
     {"cap_drop", "container.cap_add"},
     {"pids", "container.pids_limit"},
     {"privileged", "container.privileged"},
     {"mounts", "container.mounts"},
     {"ulimits", "container.ulimits"},
     {"no_new_privileges", "container.no_new_privileges"}}};

constexpr std::string_view env_key = "env.";
constexpr std::string_view late_workdir = "container.workdir"; // of labels that an earlier dockdist wrote

std::string key_of_file(std::string_view key) {
    for (const auto& [ours, theirs] : keys_of_file) {
        if (ours == key) {
            return std::string(theirs);
        }
    }
    return std::string(key);
}

// Without what comes late.
std::vector<std::string> env_of(const ContainerConfig& config) {
    auto env = config.env;
    std::erase_if(env, [](const std::string& line) { return comes_late(line.substr(0, line.find('='))); });
    return env;
}

// Each of these structs is taken apart whole: with a field more, this does not compile until it is decided
// what the field means for nodes that are there. Those that were made before the field came must keep their
// fingerprint: a field that is written only where it differs from what they have is such a decision.
json written(const ContainerConfig& config) {
    const auto& [image, platform, hostname, user, working_dir, entrypoint, command, env, container_labels,
                 config_mounts, network_mode, ipc_mode, pid_mode, runtime, shm_size, ulimits, devices,
                 requests, cap_add, cap_drop, no_new_privileges, no_label, read_only_root, pids_limit,
                 privileged, restart_policy, stop_timeout, stdin_once, disable_healthcheck, log_driver,
                 log_options] = config;
    (void)working_dir;      // comes late
    (void)env;              // the same, in part
    (void)no_label;         // of a relay's container alone
    (void)container_labels; // they hold the fingerprint
    (void)stdin_once;       // of the way to join, not of the node
    json text{
        {"image", image.str()},     {"hostname", hostname},      {"user", user},
        {"working_dir", ""},        {"entrypoint", entrypoint},  {"command", command},
        {"env", env_of(config)},    {"network", network_mode},   {"ipc", ipc_mode},
        {"pid", pid_mode},          {"runtime", runtime},        {"shm", shm_size ? shm_size->count : 0},
        {"devices", devices},       {"cap_add", cap_add},        {"pids", pids_limit.value_or(0)},
        {"privileged", privileged}, {"restart", restart_policy}, {"log", {log_driver, log_options}},
    };
    for (const auto& mount : config_mounts) {
        const auto& [type, source, target, read_only, volume_labels, tmpfs_options, make_source, selinux,
                     propagation, no_copy, data_only] = mount;
        (void)volume_labels; // of the volume, which is made once
        (void)make_source;   // of a relay's container alone
        (void)data_only;     // of the engine
        auto& written = text["mounts"];
        written.push_back({static_cast<int>(type), source, target, read_only, tmpfs_options});
        if (!selinux.empty() || !propagation.empty() || no_copy) {
            written.back().push_back({selinux, propagation, no_copy});
        }
    }
    for (const auto& [name, soft, hard, if_allowed] : ulimits) {
        (void)if_allowed; // of how it is asked for
        text["ulimits"].push_back({name, soft, hard});
    }
    for (const auto& [driver, count, device_ids] : requests) {
        text["gpus"].push_back({driver, count, device_ids});
    }
    if (!platform.empty()) {
        text["platform"] = platform;
    }
    if (!cap_drop.empty()) {
        text["cap_drop"] = cap_drop;
    }
    if (no_new_privileges) {
        text["no_new_privileges"] = true;
    }
    if (stop_timeout != node_stop_timeout) {
        text["stop_timeout"] = stop_timeout ? stop_timeout->count() : 0;
    }
    if (!disable_healthcheck) {
        text["healthcheck"] = true;
    }
    if (read_only_root) {
        text["read_only"] = true;
    }
    return text;
}

std::string hash_of(const json& text, std::size_t digits) {
    return sha256_hex(text.dump(-1, ' ', false, json::error_handler_t::replace)).substr(0, digits);
}

json digests_of(const ContainerConfig& config) {
    constexpr std::size_t digits = 8;
    const auto text = written(config);
    json digests = json::object();
    json by_key = json::object();
    for (const auto& [key, value] : text.items()) {
        by_key[key_of_file(key)].push_back(value);
    }
    by_key.erase("env");
    for (const auto& line : config.env) {
        by_key[std::string(env_key) + line.substr(0, line.find('='))].push_back(line);
    }
    for (const auto& [key, value] : by_key.items()) {
        digests[key] = hash_of(value, digits);
    }
    return digests;
}

} // namespace

bool comes_late(std::string_view variable) {
    // The engine and its hooks; programs' way; and what a node's record of its RDMA ports hangs on (rdma/).
    static constexpr std::array early{"NVIDIA_", "DOCKDIST_", "NCCL_IB_", "NCCL_NET",
                                      "UCX_",    "NVSHMEM_",  "FI_"};
    return variable != "PATH" &&
           std::ranges::none_of(early, [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

std::vector<std::string> created_variables(const Labels& labels) {
    std::vector<std::string> names;
    const auto digests = json::parse(label_of(labels, labels::spec_keys), nullptr, false);
    if (digests.is_object()) {
        for (const auto& [key, digest] : digests.items()) {
            if (key.starts_with(env_key)) {
                names.push_back(key.substr(env_key.size()));
            }
        }
    }
    return names;
}

std::string fingerprint(const ContainerConfig& config) {
    constexpr std::size_t digits = 16;
    return hash_of(written(config), digits);
}

std::string key_digests(const ContainerConfig& config) {
    return digests_of(config).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string changed_keys_text(std::string_view digests, const ContainerConfig& config) {
    const auto before = json::parse(digests, nullptr, false);
    if (!before.is_object()) { // an earlier dockdist made it
        return "its configuration changed";
    }
    const auto now = digests_of(config);
    std::vector<std::string> keys;
    const auto note = [&](const std::string& key) { keys.push_back("`" + key + "`"); };
    const auto counts = [](std::string_view key) {
        return key.starts_with(env_key) ? !comes_late(key.substr(env_key.size())) : key != late_workdir;
    };
    for (const auto& [key, digest] : now.items()) {
        if (counts(key) && (!before.contains(key) || before[key] != digest)) {
            note(key);
        }
    }
    for (const auto& [key, digest] : before.items()) {
        if (counts(key) && !now.contains(key)) {
            note(key);
        }
    }
    std::ranges::sort(keys);
    constexpr std::size_t most = 4;
    const auto left = keys.size() > most ? fmt::format(" and {} more", keys.size() - most) : "";
    keys.resize(std::min(keys.size(), most));
    return keys.empty() ? "its configuration changed"
                        : fmt::format("{}{} changed", fmt::join(keys, ", "), left);
}

} // namespace dockdist
