#include "shared/core/toolkits.hpp"

#include <algorithm>

namespace dockdist {

const Toolkit* Toolkits::of(std::string_view architecture) const {
    const auto found = std::ranges::find(all_, architecture, &Toolkit::architecture);
    return found == all_.end() ? nullptr : &*found;
}

std::vector<std::string> Toolkits::versions() const {
    std::vector<std::string> result;
    for (const auto& one : all_) {
        result.push_back(one.version);
    }
    return result;
}

std::string Toolkits::architectures() const {
    std::string text;
    for (const auto& one : all_) {
        text += (text.empty() ? "" : ", ") + one.architecture;
    }
    return text;
}

std::string go_architecture(std::string_view machine) {
    if (machine == "x86_64") {
        return "amd64";
    }
    if (machine == "aarch64") {
        return "arm64";
    }
    return std::string(machine);
}

} // namespace dockdist
