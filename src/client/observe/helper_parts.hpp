// What a host has that a short-lived container of dockdist's can be made of.
#pragma once

#include "client/plan/observed.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/toolkits.hpp"

#include <optional>
#include <string>

namespace dockdist {

struct HelperParts {
    ImageSpec image{};
    std::string toolkit{}; // version
};
// Its own image and toolkit, or else those of nodes on it, also of other clusters'. `host`: as observe()
// fills it when it is given the toolkits' versions.
std::optional<HelperParts> parts_on(const ClusterSpec& spec, const Toolkits& toolkits,
                                    const ObservedHost& host);

} // namespace dockdist
