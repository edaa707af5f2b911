// Why a container does not run any more, from what its engine and its log say.
#pragma once

#include "client/container/container_engine.hpp"

#include <optional>

namespace dockdist {

// "its container ended with code 1: exec /opt/…: argument list too long"; without a place. Empty: it runs, or
// the engine does not say. Two round trips where it has ended, one where it has not.
Task<std::optional<Error>> find_container_end(ContainerEngine& engine, ContainerId id);

} // namespace dockdist
