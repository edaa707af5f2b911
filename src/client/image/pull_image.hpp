// One host's pull, told as one step of the phase "image".
#pragma once

#include "client/container/container_engine.hpp"
#include "client/image/registry_auth.hpp"
#include "client/report/event.hpp"

#include <string>

namespace dockdist {

Task<Status> pull_image(ContainerEngine& engine, std::string host, ImageRef image, std::string platform,
                        const RegistryAuth& auth, Reporter& reporter);

} // namespace dockdist
