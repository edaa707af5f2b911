#include "client/image/registry_name.hpp"

#include "client/relay/relay_host.hpp"

namespace dockdist {
namespace {

std::string normalised(std::string_view name) {
    if (name == "index.docker.io" || name == "registry-1.docker.io") {
        return std::string(docker_hub);
    }
    return std::string(name);
}

// The registry that a reference names; empty for Docker Hub's short names.
std::string_view host_in(std::string_view reference) {
    const auto slash = reference.find('/');
    const auto first = reference.substr(0, slash == std::string_view::npos ? 0 : slash);
    return first.find_first_of(".:") != std::string_view::npos || first == "localhost" ? first : "";
}

} // namespace

std::string registry_of(const ImageRef& image) {
    const auto host = host_in(image.str());
    return host.empty() ? std::string(docker_hub) : normalised(host);
}

std::string full_name(const ImageRef& image) {
    const auto parts = split_ref(image.str());
    const std::string short_of = host_in(image.str()).empty() ? std::string(docker_hub) + "/" : "";
    const bool is_official = !short_of.empty() && parts.repository.find('/') == std::string::npos;
    return short_of + (is_official ? "library/" : "") + parts.repository + ":" + parts.tag;
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
