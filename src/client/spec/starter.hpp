// What `dockdist init` writes: a cluster.yaml and a train.py, files of templates/, taken in when dockdist is
// built.
#pragma once

#include <string_view>

namespace dockdist {

// `local`: nodes on this machine's own engine (templates/local.yaml); else templates/minimal.yaml.
std::string_view starter_file(bool local);
std::string_view starter_training(); // templates/train.py

} // namespace dockdist
