// The listening half of a check's links: a process beside the session, on a port of the rendezvous range.
//
// A connection's first bytes are the token that the client made, then one letter: 'e' sends back what comes,
// 'd' throws it away. Who brings no token within five seconds is closed without an answer.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/check_links.hpp"

#include <string>

namespace dockdist::node {

inline constexpr char link_echo = 'e';
inline constexpr char link_discard = 'd';

struct LinkListener {
    int port = 0;
    int pid = 0;
};

// Listens on `address` from 20000 to 29999, as a job's rendezvous does, until this process ends or kills it.
Result<LinkListener> start_link_listener(const std::string& address, const std::string& token);

} // namespace dockdist::node
