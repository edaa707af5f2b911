// Where the programs are that the client starts.
#pragma once

#include <string>

namespace dockdist {

// As a shell finds it, but in those folders of PATH alone that are whole paths: an empty entry or a relative
// one is whatever folder one stands in, with whatever program somebody has put there. A name with a slash is
// itself. Empty: there is none.
std::string find_in_path(const std::string& name);

} // namespace dockdist
