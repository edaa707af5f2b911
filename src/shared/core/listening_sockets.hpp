// Who listens on a TCP port of this machine, as far as proc(5) tells.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace dockdist {

// Of /proc/net/tcp or /proc/net/tcp6: what a process's descriptors of such sockets are links to,
// "socket:[12345]".
std::set<std::string> listening_sockets(std::string_view table, int port);
// Whether connections of that port are in it whose process is gone: on their way out, or in TIME_WAIT.
bool has_remains(std::string_view table, int port);

} // namespace dockdist
