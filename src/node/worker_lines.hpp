// Work in child processes of their own, each of which tells JSON lines.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace dockdist::node {

// Runs work(0) … work(count − 1), each in a process; what it returns is a line, without its '\n', of 4 KiB at
// most. At most `at_once` processes share the works among them. The lines come in any order; a process that
// was killed is missing among them.
std::vector<std::string> worker_lines(std::size_t count, std::size_t at_once,
                                      const std::function<std::string(std::size_t)>& work);

} // namespace dockdist::node
