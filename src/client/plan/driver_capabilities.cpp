#include "client/plan/driver_capabilities.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dockdist {
namespace {

std::optional<std::string> said_in_file(const ClusterSpec& spec, const HostSpec& host) {
    for (const auto* env : {&host.env, &spec.container.env}) {
        if (const auto found = env->find(driver_capabilities_variable); found != env->end()) {
            return found->second;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::string> image_value(const ImageDetails* image, std::string_view name) {
    if (image != nullptr) {
        for (const auto& variable : image->env) {
            if (variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=') {
                return variable.substr(name.size() + 1);
            }
        }
    }
    return std::nullopt;
}

std::string lacking_capabilities(std::string_view capabilities) {
    const auto said = split(capabilities, ',');
    std::string lacks;
    for (const auto& needed : split(needed_capabilities, ',')) {
        if (std::ranges::find(said, needed) == said.end() && std::ranges::find(said, "all") == said.end()) {
            lacks += (lacks.empty() ? "" : ",") + needed;
        }
    }
    return lacks;
}

std::string driver_capabilities(const ImageDetails* image) {
    const auto said = image_value(image, driver_capabilities_variable).value_or("");
    const auto lacks = said.empty() ? "" : lacking_capabilities(said);
    return lacks.empty() ? "" : said + "," + lacks;
}

bool gets_default_capabilities(const ImageDetails* image) {
    const auto said = image_value(image, driver_capabilities_variable);
    // Images from before 2018 say their CUDA_VERSION alone, and the hook gives them all there is.
    const bool old =
        !said && image_value(image, "CUDA_VERSION") && !image_value(image, "NVIDIA_REQUIRE_CUDA");
    return said.value_or("").empty() && !old;
}

std::optional<EngineRemark> judge_capabilities(const ClusterSpec& spec, const HostSpec& host,
                                               const ImageDetails* image) {
    const auto in_file = said_in_file(spec, host);
    const auto said = in_file ? in_file : image_value(image, driver_capabilities_variable);
    const auto lacks = said && !said->empty() ? lacking_capabilities(*said) : "";
    if (lacks.empty()) { // what is empty is both, to the hook
        return std::nullopt;
    }
    const auto line = printable(fmt::format("{}={}", driver_capabilities_variable, *said));
    if (in_file) {
        return EngineRemark{fmt::format("`env` has {}, without {}: its nodes have no {}", line, lacks,
                                        lacks == "utility"
                                            ? "nvidia-smi, so dockdist knows nothing of their GPUs"
                                        : lacks == "compute" ? "libcuda, so nothing computes on their GPUs"
                                                             : "nvidia-smi and no libcuda"),
                            fmt::format("write `{}: {},{}`, or remove it", driver_capabilities_variable,
                                        printable(*said), lacks)};
    }
    return EngineRemark{fmt::format("the image only asks for {}; its nodes get {} as well", line, lacks),
                        fmt::format("nothing needs to be done; the image may say {},{}", line, lacks)};
}

} // namespace dockdist
