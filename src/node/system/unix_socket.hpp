// Sockets with a path, between processes of one node.
#pragma once

#include "core/result.hpp"
#include "node/system/os.hpp"

#include <string>

namespace dockdist::node {

// `type`: SOCK_STREAM or SOCK_SEQPACKET. Replaces a socket that an earlier process left at `path`; until it
// has its owner and mode nobody but root can connect.
Result<Fd> listen_unix(const std::string& path, int type, mode_t mode, Owner owner);
Result<Fd> connect_unix(const std::string& path, int type);

} // namespace dockdist::node
