// `image.build`: the image is made by one host's engine of a folder on this machine.
#pragma once

#include "client/container/container_engine.hpp"
#include "client/image/registry_auth.hpp"
#include "client/report/event.hpp"
#include "client/spec/cluster_spec.hpp"

#include <string>

namespace dockdist {

// `image.build` is there; `surroundings` are where the logins for what its Dockerfile pulls are looked for.
// What the build says last is told when it fails. Errors: those of BuildContext::pack, find_all_registry_auth
// and ContainerEngine::build_image; `where` is `host`, a name for people, or a path on this machine.
Task<Status> build_image(ContainerEngine& engine, std::string host, ImageSpec image,
                         AuthSurroundings surroundings, Reporter& reporter);

} // namespace dockdist
