// The first process of a container, its log, and its end.
#pragma once

#include "scale/stub_engines/world.hpp"

namespace dockdist::scale {

// What a configuration's "Env" says, over what is there.
void add_environment(Command& command, const nlohmann::json& config);

// Starts it and says why it could not, or ""; its log grows from then on.
Task<std::string> start_process(World& world, Host& host, std::shared_ptr<Container> container);

// Returns when the container that runs has ended, and its state says so.
Task<void> wait_for_end(std::shared_ptr<Container> container);

} // namespace dockdist::scale
