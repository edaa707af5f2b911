// Whether the hosts have the same image under one name.
#pragma once

#include "plan/observed.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Hosts whose image has the same layers. Layers (RootFS diff ids) and not image ids are compared: ids differ
// between an engine's image stores. Of another architecture an image has other layers, and rightly so.
struct ImageGroup {
    ImageDetails image{};             // the first host's
    std::vector<std::size_t> hosts{}; // indices into ObservedCluster::hosts, ascending
};

// In the order of their first hosts; hosts without the image are in none.
std::vector<ImageGroup> image_groups(const ObservedCluster& cluster);

// Whether two groups of one architecture stand side by side.
bool images_differ(const std::vector<ImageGroup>& groups);

// "node-0, node-2 have 3bf57800663b (made 2026-11-21 16:45, 2.0 MiB)", one a group.
std::string to_text(const ImageGroup& group, const std::vector<std::string>& host_names);

std::string short_image_id(const std::string& id); // "3bf57800663b"

} // namespace dockdist
