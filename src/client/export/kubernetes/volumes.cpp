#include "client/export/kubernetes/volumes.hpp"

#include "client/export/kubernetes/names.hpp"
#include "client/export/kubernetes/pod.hpp"
#include "shared/core/path.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <optional>

namespace dockdist {
namespace {

using Json = nlohmann::ordered_json;

struct Volume {
    std::string name{}, source{};
};

// "64Gi", or bytes where no unit divides it.
std::string quantity(Bytes size) {
    constexpr const char* units[] = {"", "Ki", "Mi", "Gi", "Ti"};
    auto count = size.count;
    std::size_t unit = 0;
    while (unit < 4 && count > 0 && count % 1024 == 0) {
        count /= 1024;
        ++unit;
    }
    return std::to_string(count) + units[unit];
}

// Kubernetes knows the recursive kinds alone, and of containers that are not privileged refuses one of them.
std::string propagation(const std::string& word, bool privileged) {
    if (word == "slave" || word == "rslave") {
        return "HostToContainer";
    }
    return privileged && (word == "shared" || word == "rshared") ? "Bidirectional" : "";
}

std::string last_part(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

bool looks_like_a_file(const MountSpec& mount) {
    const auto name = last_part(mount.target);
    return name == last_part(mount.source) && name.find('.', 1) != std::string::npos;
}

Json source_of(const MountSpec& mount, Errors& warnings) {
    if (mount.source.starts_with('/')) {
        if (looks_like_a_file(mount)) {
            warnings.push_back(
                {ErrorKind::config, "`container.mounts`", mount.source + " is taken for a folder",
                 "if it is a file or a socket, write `type: File` or `Socket` in its hostPath"});
        }
        // As on Docker hosts, a folder that is missing is an error and not made, empty.
        return {{"hostPath", {{"path", mount.source}, {"type", "Directory"}}}};
    }
    const auto claim = claim_name(mount.source);
    warnings.push_back(
        {ErrorKind::config, "`container.mounts`",
         fmt::format("the volume {} is the PersistentVolumeClaim {} there", mount.source, claim),
         "create it before the job, ReadWriteMany where several machines share it"});
    return {{"persistentVolumeClaim", {{"claimName", claim}}}};
}

void warn_of_options(const MountSpec& mount, bool privileged, Errors& warnings) {
    const auto& word = mount.propagation;
    if (!mount.selinux.empty()) {
        warnings.push_back(
            without_counterpart("container.mounts", fmt::format("`{}` of {}", mount.selinux, mount.source),
                                "where machines have SELinux, give the folder its label there"));
    }
    const auto kind = propagation(word, privileged);
    const bool shared = word == "shared" || word == "rshared";
    if (word == "slave" || word == "shared" || word == "unbindable" || word == "runbindable" ||
        (shared && kind.empty())) {
        warnings.push_back(without_counterpart("container.mounts",
                                               fmt::format("`{}` of {}", word, mount.source),
                                               !kind.empty() ? "the pod has the recursive kind, " + kind
                                               : shared      ? "`container.privileged: true` may have it"
                                                             : ""));
    }
}

// As the API server takes them: without `..`, and the container's without a colon. None: it does not.
std::optional<MountSpec> acceptable(MountSpec mount, Errors& warnings) {
    mount.target = normal_path(mount.target);
    if (mount.source.starts_with('/')) {
        mount.source = normal_path(mount.source);
    }
    if (mount.target.find(':') == std::string::npos) {
        return mount;
    }
    warnings.push_back(without_counterpart("container.mounts",
                                           "a path with a colon, " + printable(mount.target) + ",",
                                           "mount it under another name"));
    return std::nullopt;
}

} // namespace

PodVolumes pod_volumes(const ContainerSpec& container, Errors& warnings) {
    PodVolumes result{Json::array(), Json::array()};
    const bool own = std::ranges::any_of(
        container.mounts, [](const MountSpec& mount) { return normal_path(mount.target) == "/dev/shm"; });
    if (container.ipc != "host" && !own) { // of the host's it has its /dev/shm
        result.volumes.push_back(
            {{"name", "shm"},
             {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", quantity(container.shm_size)}}}});
        result.mounts.push_back({{"name", "shm"}, {"mountPath", "/dev/shm"}});
    }
    std::map<std::string, Volume> volumes; // by source: one may be mounted twice
    for (const auto& given : container.mounts) {
        const auto mount = acceptable(given, warnings);
        if (!mount) {
            continue;
        }
        warn_of_options(*mount, container.privileged, warnings);
        const bool path = mount->source.starts_with('/');
        auto& [name, source] = volumes[path ? mount->source : claim_name(mount->source)];
        if (name.empty()) {
            name = fmt::format("mount-{}", volumes.size() - 1);
            source = mount->source;
            Json volume{{"name", name}};
            volume.update(source_of(*mount, warnings));
            result.volumes.push_back(std::move(volume));
        } else if (source != mount->source) {
            warnings.push_back({ErrorKind::config, "`container.mounts`",
                                fmt::format("the volumes {} and {} are one PersistentVolumeClaim there, {}",
                                            source, mount->source, claim_name(source)),
                                "give one of them another name"});
        }
        Json entry{{"name", name}, {"mountPath", mount->target}};
        if (mount->read_only) {
            entry["readOnly"] = true;
        }
        if (const auto word = propagation(mount->propagation, container.privileged); !word.empty()) {
            entry["mountPropagation"] = word;
        }
        result.mounts.push_back(std::move(entry));
    }
    return result;
}

} // namespace dockdist
