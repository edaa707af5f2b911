#include "image/registry_name.hpp"

namespace dockdist {
namespace {

std::string normalised(std::string_view name) {
    if (name == "index.docker.io" || name == "registry-1.docker.io") {
        return std::string(docker_hub);
    }
    return std::string(name);
}

} // namespace

std::string registry_of(const ImageRef& image) {
    const std::string_view reference = image.str();
    const auto slash = reference.find('/');
    if (slash == std::string_view::npos) {
        return std::string(docker_hub);
    }
    const auto first = reference.substr(0, slash);
    const bool is_host = first.find_first_of(".:") != std::string_view::npos || first == "localhost";
    return is_host ? normalised(first) : std::string(docker_hub);
}

std::string credentials_key(std::string_view registry) {
    return registry == docker_hub ? "https://index.docker.io/v1/" : std::string(registry);
}

std::string registry_of_key(std::string_view key) {
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (key.starts_with(scheme)) {
            key.remove_prefix(scheme.size());
        }
    }
    return normalised(key.substr(0, key.find('/')));
}

} // namespace dockdist
