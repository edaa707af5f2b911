// What a process writes.
#pragma once

#include "client/async/task.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <string>

namespace dockdist::scale {

// What there is, as soon as there is something; "" at the end. The buffer is the same for all pipes: most of
// them say nothing most of the time, and there are thousands.
Task<std::string> read_pipe(boost::asio::posix::stream_descriptor& pipe);

// All of it.
Task<std::string> read_pipe_to_end(boost::asio::posix::stream_descriptor pipe);

} // namespace dockdist::scale
