// The cluster.yaml that `dockdist init` writes: a file of templates/, taken in when dockdist is built.
#pragma once

#include <string_view>

namespace dockdist {

// `local`: nodes on this machine's own engine (templates/local.yaml); else templates/minimal.yaml.
std::string_view starter_file(bool local);

} // namespace dockdist
