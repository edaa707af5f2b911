// What each host has of the cluster's image.
#pragma once

#include "client/observe/observe.hpp"
#include "client/plan/image_groups.hpp"
#include "client/report/output.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct ImageRow {
    std::string host{};
    bool reached = false;
    std::optional<ImageDetails> image{};
    std::string chain_id{}; // of all layers (OCI image-spec, "sha256:…"): equal where the layers are
};

struct ImageList {
    ImageRef ref{};
    std::vector<ImageRow> rows{}; // in the order of ClusterSpec::hosts
    std::vector<ImageGroup> groups{};
    Errors errors{}; // of hosts that could not be asked

    bool same_everywhere() const; // every host has it, and the same one (by architecture)
};

// One read a host, all side by side.
Task<ImageList> list_images(const ClusterSpec& spec, const Engines& engines);

// Hosts that were reached and lack the image, or have another. One that it is not for is an error, unless it
// has one for itself. One read of each of these hosts.
struct LackingHosts {
    std::vector<std::size_t> hosts{}; // ascending
    Errors errors{};
};
Task<LackingHosts> hosts_without(const ImageList& list, const ImageDetails& image, const ClusterSpec& spec,
                                 const Engines& engines);

// A table, and below it who has what where the hosts differ.
std::string to_text(const ImageList& list, const OutputTraits& output = no_terminal);

std::string chain_id(const std::vector<std::string>& diff_ids);

} // namespace dockdist
