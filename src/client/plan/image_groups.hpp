// Whether the hosts have the same image under one name.
#pragma once

#include "client/plan/observed.hpp"
#include "client/spec/cluster_spec.hpp"

#include <string>
#include <vector>

namespace dockdist {

// Hosts that have the same image (client/container/same_image.hpp). Of another architecture it has other
// layers, and rightly so.
struct ImageGroup {
    ImageDetails image{};             // the first host's
    std::vector<std::size_t> hosts{}; // indices into ObservedCluster::hosts, ascending
    // In what it differs from the first group with the same layers: "environment, user". Its LAYERS and its
    // size say nothing of that.
    std::string beside_layers{};
};

// In the order of their first hosts; hosts without the image are in none.
std::vector<ImageGroup> image_groups(const ObservedCluster& cluster);

// Whether two groups of one architecture stand side by side.
bool images_differ(const std::vector<ImageGroup>& groups);

// "node-0, node-2 have 3bf57800663b (made 2026-11-21 16:45, 2.0 MiB)", one a group; where its layers are
// another group's too: "(made …, 2.0 MiB; the same layers, but another environment)".
std::string to_text(const ImageGroup& group, const std::vector<std::string>& host_names);

std::string short_image_id(const std::string& id); // "3bf57800663b"

// What is said of nodes that would not all run the same: they would fail late and oddly, or train badly.
Error of_different_images(const ClusterSpec& spec, const std::vector<ImageGroup>& groups);

} // namespace dockdist
