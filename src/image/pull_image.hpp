// One host's pull, told as one step of the phase "image".
#pragma once

#include "container/container_engine.hpp"
#include "image/registry_auth.hpp"
#include "report/event.hpp"

#include <string>

namespace dockdist {

Task<Status> pull_image(ContainerEngine& engine, std::string host, ImageRef image, std::string platform,
                        const RegistryAuth& auth, Reporter& reporter);

} // namespace dockdist
