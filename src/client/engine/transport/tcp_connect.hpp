// Name resolution and connection, for every transport that runs over TCP.
#pragma once

#include "client/async/task.hpp"
#include "shared/core/engine_address.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <memory>

namespace dockdist {

// Tries each address of the name in turn, each for its share of `limit`. The socket has keepalive (a dead
// peer is noticed within about 30 s), no Nagle delay, and is not inherited by child processes.
Task<Result<std::unique_ptr<boost::asio::ip::tcp::socket>>>
connect_tcp(boost::asio::any_io_executor executor, EngineAddress address, std::chrono::milliseconds limit);

} // namespace dockdist
