#include "client/observe/helper_parts.hpp"

#include "client/plan/architecture.hpp"
#include "client/plan/labels.hpp"

namespace dockdist {

std::optional<HelperParts> parts_on(const ClusterSpec& spec, const Toolkits& toolkits,
                                    const ObservedHost& host) {
    const auto* const toolkit = toolkit_of(toolkits, spec.image, host);
    const bool has_own = has_toolkit(host, toolkit);
    if (has_own && host.image && !has_other_platform(spec.image, host)) {
        return HelperParts{.image = spec.image, .toolkit = toolkit->version};
    }
    const auto of_node = [&](const std::string& image, const std::string& version) {
        return image.empty() || version.empty()
                   ? std::nullopt
                   : std::optional(HelperParts{.image = {.ref = ImageRef(image)},
                                               .toolkit = has_own ? toolkit->version : version});
    };
    for (const auto& node : host.nodes) {
        if (auto parts = of_node(node.image_id, label_of(node.labels, labels::version))) {
            return parts;
        }
    }
    for (const auto& other : host.neighbours) {
        if (auto parts = of_node(other.image_id, other.toolkit)) {
            return parts;
        }
    }
    return std::nullopt;
}

} // namespace dockdist
