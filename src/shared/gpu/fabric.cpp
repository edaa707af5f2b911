#include "shared/gpu/fabric.hpp"

#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"

namespace dockdist {
namespace {

bool is_told(std::string_view value) {
    return !value.empty() && value != "N/A" && value != "[N/A]" && value != "Not Supported";
}

} // namespace

std::optional<GpuFabric> parse_fabric(std::string_view text) {
    GpuFabric fabric;
    std::size_t depth = std::string_view::npos; // of the section's own name; npos: it has not begun
    for (const auto& line : split(text, '\n')) {
        const auto begin = line.find_first_not_of(' ');
        if (begin == std::string::npos) {
            continue;
        }
        const auto colon = line.find(" : ");
        const auto name = trimmed(std::string_view(line).substr(0, colon), " \t\r");
        if (depth == std::string_view::npos) {
            depth = colon == std::string::npos && name == "Fabric" ? begin : depth;
            continue;
        }
        if (begin <= depth) {
            break;
        }
        const auto value = colon == std::string::npos
                               ? std::string_view()
                               : trimmed(std::string_view(line).substr(colon + 3), " \t\r");
        auto* const field = name == "State"         ? &fabric.state
                            : name == "Status"      ? &fabric.status
                            : name == "CliqueId"    ? &fabric.clique
                            : name == "ClusterUUID" ? &fabric.cluster
                                                    : nullptr;
        if (field != nullptr && field->empty() && is_told(value)) {
            *field = value;
        }
    }
    if (fabric.cluster.find_first_not_of("0-") == std::string::npos) {
        fabric.cluster.clear();
    }
    return fabric.state.empty() ? std::nullopt : std::optional(fabric);
}

} // namespace dockdist
