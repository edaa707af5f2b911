// Patterns as git matches them in .gitignore files.
#pragma once

#include <string_view>

namespace dockdist {

// `*`, `?` and `[…]` match no '/', `**` does where it stands between slashes or at an end; a backslash takes
// the next character as it is.
bool wildmatch(std::string_view pattern, std::string_view text);

} // namespace dockdist
