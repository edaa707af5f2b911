#include "client/export/kubernetes/options.hpp"

#include "client/export/kubernetes/names.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

constexpr int most_of_a_resource = 1024;

Error refused(const std::string& option, const std::string& word, const std::string& what) {
    return {ErrorKind::usage, option, fmt::format("`{}` is not {}", printable(word), what), ""};
}

Result<std::map<std::string, std::string>> read_labels(const std::string& option,
                                                       const std::vector<std::string>& words) {
    std::map<std::string, std::string> labels;
    for (const auto& word : words) {
        const auto equals = word.find('=');
        const auto key = word.substr(0, equals);
        if (equals == std::string::npos || !is_qualified_name(key) ||
            !is_label_value(word.substr(equals + 1))) {
            return refused(option, word, "KEY=VALUE of a label, such as example.com/pool=training");
        }
        labels[key] = word.substr(equals + 1);
    }
    return labels;
}

Result<Toleration> read_toleration(const std::string& word) {
    constexpr std::array<std::string_view, 4> effects{"", "NoSchedule", "PreferNoSchedule", "NoExecute"};
    Toleration toleration;
    const auto colon = word.find(':');
    if (colon != std::string::npos) {
        toleration.effect = word.substr(colon + 1);
    }
    const auto taint = word.substr(0, colon);
    const auto equals = taint.find('=');
    toleration.key = taint.substr(0, equals);
    if (equals != std::string::npos) {
        toleration.value = taint.substr(equals + 1);
    }
    if (!is_qualified_name(toleration.key) || !is_label_value(toleration.value) ||
        std::ranges::find(effects, toleration.effect) == effects.end()) {
        return refused(
            "--toleration", word,
            "KEY[=VALUE][:EFFECT] of a taint, whose effect is NoSchedule, PreferNoSchedule or NoExecute");
    }
    return toleration;
}

Result<PodResource> read_resource(const std::string& word) {
    const auto equals = word.find('=');
    PodResource resource{.name = word.substr(0, equals)};
    const auto count =
        equals == std::string::npos ? std::optional(1) : whole_number<int>(word.substr(equals + 1));
    if (!is_qualified_name(resource.name) || resource.name.find('/') == std::string::npos || !count ||
        *count < 1 || *count > most_of_a_resource) {
        return refused(
            "--rdma-resource", word,
            "DOMAIN/NAME[=COUNT] of a device plugin's resource, such as rdma/hca_shared_devices_a");
    }
    resource.count = *count;
    return resource;
}

Status check_names(const KubernetesWords& words) {
    if (!words.name_space.empty() && !is_dns_label(words.name_space)) {
        return refused("--namespace", words.name_space, "a namespace: a-z, 0-9 and `-`, 63 letters at most");
    }
    for (const auto& [option, name] :
         {std::pair("--secret", &words.secret), std::pair("--image-pull-secret", &words.image_pull_secret),
          std::pair("--runtime-class", &words.runtime_class)}) {
        if (!name->empty() && !is_dns_domain(*name)) {
            return refused(option, *name, "a name of Kubernetes: a-z, 0-9, `-` and `.`");
        }
    }
    return ok;
}

} // namespace

Result<KubernetesOptions> read_options(const KubernetesWords& words) {
    TRY(check_names(words));
    KubernetesOptions options{.kind = words.kind == "trainjob" ? KubernetesOptions::Kind::trainjob
                                                               : KubernetesOptions::Kind::jobset,
                              .name_space = words.name_space,
                              .secret = words.secret,
                              .image_pull_secret = words.image_pull_secret,
                              .runtime_class = words.runtime_class,
                              .pod_network = words.pod_network};
    auto labels = read_labels("--label", words.labels);
    auto selector = read_labels("--node-selector", words.node_selector);
    if (!labels || !selector) {
        return labels ? selector.error() : labels.error();
    }
    options.labels = std::move(*labels);
    options.node_selector = std::move(*selector);
    for (const auto& word : words.tolerations) {
        auto toleration = read_toleration(word);
        TRY(toleration);
        options.tolerations.push_back(std::move(*toleration));
    }
    for (const auto& word : words.rdma) {
        auto resource = read_resource(word);
        TRY(resource);
        options.rdma.push_back(std::move(*resource));
    }
    return options;
}

} // namespace dockdist
