// Comparing what others must not guess.
#pragma once

#include <string_view>

namespace dockdist::node {

// Takes as long wherever they differ; their sizes are no secret.
bool same_secret(std::string_view a, std::string_view b);

} // namespace dockdist::node
