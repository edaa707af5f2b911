#include "client/export/kubernetes/pod.hpp"

#include "client/export/kubernetes/names.hpp"
#include "client/export/kubernetes/references.hpp"
#include "client/export/kubernetes/volumes.hpp"
#include "shared/core/number.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

using Json = nlohmann::ordered_json;

Json environment(const ExportJob& job, const Manifest& names) {
    auto list = Json::array();
    for (const auto& [name, value] : job.env) {
        list.push_back({{"name", name}, {"value", escape_references(value)}});
    }
    for (const auto& name : names.secret_keys) {
        list.push_back(
            {{"name", name}, {"valueFrom", {{"secretKeyRef", {{"name", names.secret}, {"key", name}}}}}});
    }
    // On the host's network it is the host's.
    list.push_back({{"name", "POD_IP"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "status.podIP"}}}}}});
    return list;
}

Json limits(const ExportJob& job, const KubernetesOptions& options) {
    auto result = Json::object();
    if (job.gpus > 0) {
        result[job.amd ? "amd.com/gpu" : "nvidia.com/gpu"] = job.gpus;
    }
    for (const auto& resource : options.rdma) {
        result[resource.name] = resource.count;
    }
    return result;
}

// Who the processes are: as in dockdist's own nodes root, whatever user the image names.
void set_user(Json& context, const std::string& user, Errors& warnings) {
    const auto colon = user.find(':');
    const auto name = user.substr(0, colon);
    const auto uid = name.empty() || name == "root" ? 0 : whole_number<std::int64_t>(name);
    if (!uid) {
        warnings.push_back(without_counterpart("container.user", "the name " + name,
                                               "write its number (`id -u`), with the group's: 1000:1000"));
        return;
    }
    context["runAsUser"] = *uid;
    if (colon != std::string::npos) {
        const auto group = user.substr(colon + 1);
        if (const auto gid = group == "root" ? 0 : whole_number<std::int64_t>(group)) {
            context["runAsGroup"] = *gid;
        } else {
            warnings.push_back(
                without_counterpart("container.user", "the group " + group, "write its number"));
        }
    }
}

Json security_context(const ContainerSpec& container, const KubernetesOptions& options, Errors& warnings) {
    auto context = Json::object();
    set_user(context, container.user, warnings);
    if (container.privileged) {
        context["privileged"] = true;
    }
    auto added = container.cap_add;
    const auto has = [&](const char* name) { return std::ranges::find(added, name) != added.end(); };
    if (!options.rdma.empty() && !has("IPC_LOCK") && !has("ALL")) {
        added.emplace_back("IPC_LOCK"); // memory that a port reads and writes is locked
    }
    if (!added.empty()) {
        context["capabilities"] = {{"add", added}};
    }
    // The API server refuses it of containers that have such rights anyway.
    if (container.no_new_privileges.value_or(false) && !container.privileged && !has("SYS_ADMIN") &&
        !has("ALL")) {
        context["allowPrivilegeEscalation"] = false;
    }
    return context;
}

const char* pull_policy(ImageSpec::Pull pull) {
    switch (pull) {
    case ImageSpec::Pull::always:
        return "Always";
    case ImageSpec::Pull::never:
        return "Never";
    case ImageSpec::Pull::missing:
        break;
    }
    return "IfNotPresent";
}

Json container_of(const ExportJob& job, const std::string& script, const KubernetesOptions& options,
                  const Manifest& names, Json mounts, Errors& warnings) {
    const auto& spec = job.spec;
    Json result = {{"name", pods_name},
                   {"image", spec.image.ref.str()},
                   {"imagePullPolicy", pull_policy(spec.image.pull)}};
    result["command"] = {"sh", "-c", escape_references(script)};
    if (!job.workdir.empty()) {
        result["workingDir"] = job.workdir;
    }
    result["env"] = environment(job, names);
    if (auto wanted = limits(job, options); !wanted.empty()) {
        result["resources"] = {{"limits", std::move(wanted)}};
    }
    result["securityContext"] = security_context(job.spec.container, options, warnings);
    if (!mounts.empty()) {
        result["volumeMounts"] = std::move(mounts);
    }
    return result;
}

Json tolerations(const ExportJob& job, const KubernetesOptions& options) {
    auto list = Json::array();
    if (job.gpus > 0) { // the taint that machines with GPUs often bear, to keep other pods away
        list.push_back({{"key", job.amd ? "amd.com/gpu" : "nvidia.com/gpu"},
                        {"operator", "Exists"},
                        {"effect", "NoSchedule"}});
    }
    for (const auto& [key, value, effect] : options.tolerations) {
        Json toleration = {{"key", key}, {"operator", value.empty() ? "Exists" : "Equal"}};
        if (!value.empty()) {
            toleration["value"] = value;
        }
        if (!effect.empty()) {
            toleration["effect"] = effect;
        }
        list.push_back(std::move(toleration));
    }
    return list;
}

// No two of the set's pods on one machine.
Json apart(const std::string& set) {
    Json term = {{"labelSelector", {{"matchLabels", {{"jobset.sigs.k8s.io/jobset-name", set}}}}},
                 {"topologyKey", "kubernetes.io/hostname"}};
    return {{"podAntiAffinity",
             {{"requiredDuringSchedulingIgnoredDuringExecution", Json::array({std::move(term)})}}}};
}

// `image.platform`: "linux/arm64", or longer.
void select_platform(std::map<std::string, std::string>& selector, const std::string& platform) {
    const auto slash = platform.find('/');
    if (slash == std::string::npos) {
        return;
    }
    selector.emplace("kubernetes.io/os", platform.substr(0, slash));
    const auto rest = platform.substr(slash + 1);
    selector.emplace("kubernetes.io/arch", rest.substr(0, rest.find('/')));
}

// Beside what unmapped() says of whole keys.
void warn_of_devices(const ContainerSpec& container, Errors& warnings) {
    for (const auto& device : container.devices) {
        warnings.push_back(
            without_counterpart("container.devices", device,
                                device.starts_with("/dev/infiniband")
                                    ? "name the device plugin's resource: --rdma-resource rdma/NAME"
                                    : "pods get devices from a device plugin"));
    }
}

} // namespace

Error without_counterpart(const std::string& key, const std::string& what, const std::string& hint) {
    return {ErrorKind::config, "`" + key + "`", what + " has no counterpart in Kubernetes, and is left out",
            hint};
}

Json pod_spec(const ExportJob& job, const std::string& script, const KubernetesOptions& options,
              const Manifest& names, Errors& warnings) {
    const auto& spec = job.spec;
    auto result = Json::object();
    result["restartPolicy"] = "Never"; // one process that fails ends the job, or begins all of it anew
    result["terminationGracePeriodSeconds"] = std::chrono::ceil<std::chrono::seconds>(job.grace).count();
    if (!options.pod_network) {
        result["hostNetwork"] = true;
        result["dnsPolicy"] = "ClusterFirstWithHostNet"; // else the other pods' names are not found there
    }
    if (spec.container.ipc == "host") {
        result["hostIPC"] = true;
    }
    if (!options.runtime_class.empty()) {
        result["runtimeClassName"] = options.runtime_class;
    } else if (!spec.container.runtime.empty()) {
        warnings.push_back(
            without_counterpart("container.runtime", spec.container.runtime,
                                "where the cluster has a RuntimeClass for it: --runtime-class NAME"));
    }
    if (!options.image_pull_secret.empty()) {
        result["imagePullSecrets"] = Json::array({{{"name", options.image_pull_secret}}});
    }
    auto selector = options.node_selector;
    select_platform(selector, spec.image.platform);
    if (!selector.empty()) {
        result["nodeSelector"] = selector;
    }
    if (auto list = tolerations(job, options); !list.empty()) {
        result["tolerations"] = std::move(list);
    }
    if (job.request.nodes.size() > 1) {
        result["affinity"] = apart(names.set);
    }
    auto [volumes, mounts] = pod_volumes(spec.container, warnings);
    result["containers"] =
        Json::array({container_of(job, script, options, names, std::move(mounts), warnings)});
    if (!volumes.empty()) {
        result["volumes"] = std::move(volumes);
    }
    warn_of_devices(spec.container, warnings);
    return result;
}

} // namespace dockdist
