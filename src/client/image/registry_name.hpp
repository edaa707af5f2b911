// Which registry an image comes from, by the rules of docker's own references.
#pragma once

#include "shared/core/names.hpp"

#include <string>
#include <string_view>

namespace dockdist {

inline constexpr std::string_view docker_hub = "docker.io";

// "docker.io", "ghcr.io", "10.0.0.1:5000": what stands before the first '/' when it has a '.' or a ':' or is
// "localhost"; otherwise Docker Hub. Hub's other names (index.docker.io, registry-1.docker.io) are docker.io
// too.
std::string registry_of(const ImageRef& image);

// With its registry and its tag: "docker.io/library/train:1" for "train:1". In an archive, engines read a
// short name each in its own way.
std::string full_name(const ImageRef& image);

// What docker's config.json calls that registry: "https://index.docker.io/v1/" for Docker Hub, else its name.
std::string credentials_key(std::string_view registry);

// A key of config.json's `auths` as a registry's name: "https://ghcr.io/v2/" is "ghcr.io".
std::string registry_of_key(std::string_view key);

} // namespace dockdist
