// Tars as engines give them of their images, for tests.
#pragma once

#include "shared/core/ustar.hpp"
#include "shared/digest/sha256.hpp"

#include <string>

namespace dockdist::testing {

inline std::string tar_file(const std::string& name, const std::string& content) {
    const UstarEntry head{.name = name, .mode = 0755, .size = static_cast<std::int64_t>(content.size())};
    return ustar_header(head) + content + ustar_padding(head);
}

// Of an image of one layer.
inline std::string image_tar(const std::string& layer) {
    return tar_file("l", layer) +
           tar_file("c.json", "{\"rootfs\":{\"diff_ids\":[\"" + sha256_of(layer) + "\"]}}") +
           tar_file("manifest.json", R"([{"Config":"c.json","Layers":["l"]}])") + ustar_end();
}

} // namespace dockdist::testing
