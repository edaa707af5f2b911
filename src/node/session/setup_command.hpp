// `dockdist-init setup`: shared/wire/setup.hpp, the node's side.
#pragma once

#include "shared/wire/setup.hpp"

#include <string>
#include <vector>

namespace dockdist::node {

int run_setup(const std::vector<std::string>& arguments);

// Pure: the words of a shell's line that may be paths. Quotes and what parts words are no part of them.
std::vector<std::string> words_that_may_be_paths(const std::string& line);

// Of the line, as the caller sees the files that it names: of files the content (of large ones size and
// time), of folders what says which packages they are. A name that is no file or folder counts as text alone.
std::string setup_digest(const wire::SetupLine& line);

} // namespace dockdist::node
