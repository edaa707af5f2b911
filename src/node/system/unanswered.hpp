// Machines to which this one sends, and which do not answer, as the kernel's table of TCP connections tells
// it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dockdist::node {

// Pure: of the text of /proc/net/tcp, of tcp6 or of one behind the other, the addresses of the other ends of
// connections on which the same has been sent again five times and more, which takes six seconds and more
// without an answer. Each once.
std::vector<std::string> unanswered_in(std::string_view table);
// Of this network namespace; 64 at most.
std::vector<std::string> unanswered_addresses();

} // namespace dockdist::node
