// `image.build`: the image is made by one host's engine of a folder on this machine.
#pragma once

#include "container/container_engine.hpp"
#include "report/event.hpp"
#include "spec/cluster_spec.hpp"

#include <string>

namespace dockdist {

// `image.build` is there. `registry_config` is the X-Registry-Config for what its Dockerfile pulls. What the
// build says last is told when it fails. Errors: those of make_build_context and
// ContainerEngine::build_image; `where` is `host`, a name for people, or a path on this machine.
Task<Status> build_image(ContainerEngine& engine, std::string host, ImageSpec image,
                         std::string registry_config, Reporter& reporter);

} // namespace dockdist
