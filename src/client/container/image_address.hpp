// An image that an engine makes of a tar which it fetches from an address itself (POST /images/create,
// fromSrc): what ContainerEngine::pull_image takes in place of a registry's reference. Nothing of it is known
// to be right before its layer's digest has been looked at (ImageDetails::layers).
#pragma once

#include "shared/core/names.hpp"

#include <optional>
#include <string>

namespace dockdist {

// `url`: http://…; the image becomes REPOSITORY:TAG.
ImageRef image_at(const std::string& url, const std::string& repository, const std::string& tag);

struct ImageAddress {
    std::string url{}, repository{}, tag{};
};
std::optional<ImageAddress> address_in(const ImageRef& ref); // nothing: it is a registry's

} // namespace dockdist
