// The environment of another process of this container, as it was when its program began.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>

namespace dockdist::node {

std::string read_process_environ(pid_t pid); // NUL after each entry; empty: it is gone, or not to be seen
// Pure: the value of `name` in such a block; empty where it is not set.
std::string variable_in(std::string_view block, std::string_view name);

} // namespace dockdist::node
