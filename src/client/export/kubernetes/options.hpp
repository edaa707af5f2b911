// The options of `dockdist export kubernetes` as people write them.
#pragma once

#include "client/export/kubernetes/manifest.hpp"
#include "shared/core/result.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct KubernetesWords {
    std::string kind = "jobset"; // or trainjob
    std::string name_space{};
    std::string secret{};
    std::string image_pull_secret{};
    std::string runtime_class{};
    std::vector<std::string> labels{};        // KEY=VALUE
    std::vector<std::string> node_selector{}; // KEY=VALUE
    std::vector<std::string> tolerations{};   // KEY[=VALUE][:EFFECT]
    std::vector<std::string> rdma{};          // NAME[=COUNT]
    bool pod_network = false;
};

// Errors (usage): what Kubernetes would refuse, by the option.
Result<KubernetesOptions> read_options(const KubernetesWords& words);

} // namespace dockdist
