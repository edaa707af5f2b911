// Environments in which nobody but root has a word.
#pragma once

#include "node/system/environment.hpp"

#include <string>
#include <string_view>

namespace dockdist::node {

// For the toolkit's own programs: nothing of the image's that their loader or libcrypto would read.
Environment clean_environment();
void remove_loader_variables(Environment& environment);

// Of the folders of a PATH or an LD_LIBRARY_PATH those that nobody but root can put anything into, each
// once.
std::string roots_folders(std::string_view list);

// A PATH with the standard folders behind it, and those that NVIDIA's drivers have elsewhere: where programs
// are looked for that root runs or believes. roots_path(): of these the root's alone.
std::string with_standard_folders(std::string_view list);
std::string roots_path(std::string_view list);

// For a program of the image's whose word root takes: PATH, where the image's drivers are, and nothing else
// of `container`.
Environment believed_environment(const Environment& container);

// For what the user has root do in a node of another account's: the container's environment without what
// that account could lead root by. `home`: root's.
void keep_to_root(Environment& environment, const std::string& home);

// Pure: whether programs are told by it what to load, to run or to read before anything else.
bool leads_programs(std::string_view name);

} // namespace dockdist::node
