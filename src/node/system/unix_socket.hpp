// Sockets with a path, between processes of one node, and with a name between all nodes of one host.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"

#include <string>

namespace dockdist::node {

// `type`: SOCK_STREAM or SOCK_SEQPACKET. Replaces a socket that an earlier process left at `path`; until it
// has its owner and mode nobody but root can connect.
Result<Fd> listen_unix(const std::string& path, int type, mode_t mode, Owner owner);
// Neither this nor a send over it waits for more than five seconds. Busy: somebody listens, and does not
// answer.
Result<Fd> connect_unix(const std::string& path, int type);

// Streams by a name of the network namespace (an "abstract" one), which needs no file and knows no owner:
// whoever is on the host's network may take it or connect, and is_our_user() tells who has. None of them
// waits for anything.
Result<Fd> listen_by_name(const std::string& name);
Result<Fd> connect_by_name(const std::string& name);
// Whether who connected, or began to listen, was a process of this one's own user (root, where this is root).
bool is_our_user(int socket);

} // namespace dockdist::node
