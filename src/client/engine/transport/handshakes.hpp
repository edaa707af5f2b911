// A cap on the handshakes that are under way in the whole program: they cost computing time on both sides,
// and with hundreds at once each of them would be late. Steps of Slurm that begin count as such: each is a
// process here, and a request to the one controller.
#pragma once

#include "client/async/limiter.hpp"

namespace dockdist {

// A place among those who shake hands (the exchange of keys of TLS or ssh, on a socket that is connected;
// a step of Slurm until its tunnel answers).
// The deadline of a handshake begins with its place.
Task<Limiter::Permit> handshake_place(const boost::asio::any_io_executor& executor);

} // namespace dockdist
