// The CSS of all pages.
#pragma once

#include <string_view>

namespace dockdist {

extern const std::string_view page_style;

} // namespace dockdist
