// What containers on a host run as, and so which toolkit they get. Architectures have Go's names: "amd64".
#pragma once

#include "client/plan/engine_abilities.hpp"
#include "client/plan/observed.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/toolkits.hpp"

#include <optional>
#include <string>

namespace dockdist {

// The architecture that `image.platform` names; "" where it names none.
std::string architecture_of(const ImageSpec& image);

// What the file says, or the image that the host has, or its engine.
std::string container_architecture(const ImageSpec& image, const ObservedHost& host);

// nullptr: this build has none for it.
const Toolkit* toolkit_of(const Toolkits& toolkits, const ImageSpec& image, const ObservedHost& host);
bool has_toolkit(const ObservedHost& host, const Toolkit* toolkit);

// The host has the image for another architecture than `image.platform` names.
bool has_other_platform(const ImageSpec& image, const ObservedHost& host);

// Why no node can be made there, and what to do. `pulls`: the image is to be brought yet, where `pull` or
// `from` say so.
std::optional<EngineRemark> judge_architecture(const ImageSpec& image, const ObservedHost& host,
                                               const Toolkits& toolkits, bool pulls);

// Why the image that `image.from` gives cannot be the one there.
std::optional<EngineRemark> judge_source(const ImageSpec& image, const ImageDetails& source,
                                         const EngineInfo& engine);

} // namespace dockdist
