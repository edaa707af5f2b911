// TCP sockets of a check's links: with a deadline, and with the words by which a firewall is told from a
// closed door.
#pragma once

#include "node/system/os.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/check_links.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace dockdist::node {

struct LinkFailure {
    wire::LinkOutcome outcome = wire::LinkOutcome::failed;
    int number = 0; // errno
};

// A child of the session holds one of these: connected, non-blocking, without Nagle's delay.
boost::system::result<Fd, LinkFailure> connect_link(const std::string& address, int port,
                                                    std::int64_t limit_ms);

// Sends all of `bytes`, and receives as many; what comes is compared. 0, or errno (EPROTO: other bytes came,
// or the end; ETIMEDOUT).
int exchange(int fd, std::string_view bytes, std::int64_t limit_ms);
int send_bytes(int fd, std::string_view bytes, std::int64_t limit_ms);

// For a process that stays beside the session: it has nothing of the client's streams, and ends with its
// parent.
void become_link_child(int parent);

} // namespace dockdist::node
