// The sockets of a relay: nothing waits for ever on a peer that moves no byte.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/relay.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dockdist::node {

// Bytes; 0 at the end. Errors: timeout (nothing came for `limit_ms`); the system's.
Result<std::size_t> receive(int fd, std::span<char> into, std::int64_t limit_ms);
// A slow reader is no error, one that takes no byte for `idle_ms` is.
Status send_all(int fd, std::string_view bytes, std::int64_t idle_ms);

// `upstream` is "ADDRESS PORT", numeric. A machine that is gone later on is noticed by keepalive.
Result<Fd> connect_to(const std::string& upstream);
// On a free port of a numeric address, not blocking; `port` is set. Not open when that fails.
Fd listen_on(const std::string& address, int& port);
// Where the opening says: an address that cannot be listened on is that of the default route instead; that
// the interface or the subnet is not there is an error, as it is one of the node. `listening` gets address
// and port.
Result<Fd> listen_for_peers(const wire::RelayOpening& opening, wire::RelayMessage& listening);

// Noticed within about ten seconds when its machine is gone; one that is slow is not disturbed.
void keep_alive(int fd);

} // namespace dockdist::node
