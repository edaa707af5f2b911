// Letters of ASCII: what protocols and file formats are written in, whatever the locale.
#pragma once

#include <string>
#include <string_view>

namespace dockdist {

std::string to_lower(std::string_view text); // A-Z alone

} // namespace dockdist
