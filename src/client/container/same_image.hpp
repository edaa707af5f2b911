// Whether two engines have the same image under a name.
#pragma once

#include "client/container/types.hpp"

#include <string>
#include <vector>

namespace dockdist {

// What differs of two images, in words: "layers", "architecture", "environment", "entrypoint", "command",
// "user", "working directory". Every engine tells these alike of one image, in each of its stores (moby's
// daemon/images and daemon/containerd, Podman's pkg/api/handlers); ids, sizes, dates and digests it does not.
// An architecture that is not told is none that differs.
std::vector<std::string> image_differences(const ImageDetails& one, const ImageDetails& other);

bool same_image(const ImageDetails& one, const ImageDetails& other);

} // namespace dockdist
