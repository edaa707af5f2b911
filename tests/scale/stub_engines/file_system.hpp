// What a container's processes see of files.
#pragma once

#include "scale/stub_engines/sandbox.hpp"

#include <string>

namespace dockdist::scale {

// In a mount namespace of its own: afterwards "/" is the container's. What went wrong, or "".
std::string enter_file_system(const Sandbox& sandbox);

void make_folders(const std::string& path);

} // namespace dockdist::scale
