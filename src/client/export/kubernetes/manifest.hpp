// A job over pods: what a cluster.yaml and the options of a run become in Kubernetes. Pure.
//
// The pods are those of one indexed Job of a JobSet, whose controller restarts them together and gives each
// a name in the cluster's DNS (jobset.sigs.k8s.io). Node rank i is the pod of index i.
#pragma once

#include "client/export/export_job.hpp"
#include "shared/core/result.hpp"

#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace dockdist {

struct Toleration {
    std::string key{}, value{}, effect{}; // without a value: any; without an effect: all of them
};

// A resource of a device plugin, and how many of it a pod gets.
struct PodResource {
    std::string name{}; // "rdma/hca_shared_devices_a"
    int count = 1;
};

// What only Kubernetes is told.
struct KubernetesOptions {
    enum class Kind { jobset, trainjob };
    Kind kind = Kind::jobset;
    std::string name_space{}; // empty: that of kubectl's context
    std::string secret{};     // the Secret that holds the file's secrets; empty: the set's name
    std::string image_pull_secret{};
    std::map<std::string, std::string> labels{}; // of the JobSet or TrainJob
    std::map<std::string, std::string> node_selector{};
    std::vector<Toleration> tolerations{};
    std::vector<PodResource> rdma{};
    std::string runtime_class{};
    bool pod_network = false; // else the host's
};

struct Manifest {
    std::vector<nlohmann::ordered_json> objects{}; // in the order in which they are created
    Errors warnings{};                             // what of the file and the options is not in them
    std::string set{};                             // the JobSet's name
    std::string secret{};                          // the name of the Secret that it refers to; empty: none
    std::vector<std::string> secret_keys{};        // that it has to have
};

// Errors (usage, config): a name that Kubernetes does not take; RDMA that is required and of no resource;
// text that is not UTF-8; an image by its id; what node_script() and fits_one_word() refuse.
Result<Manifest> make_manifest(ExportJob job, const KubernetesOptions& options);

// One YAML document an object, with a comment on how to use them.
std::string to_yaml_text(const Manifest& manifest, const KubernetesOptions& options);
// The same objects as one List.
nlohmann::ordered_json to_list(const Manifest& manifest);

} // namespace dockdist
