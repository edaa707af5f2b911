// The user's own ssh as a way to a host, for what dockdist itself cannot do: one process a host, to which
// each connection to the engine's socket is a connection of this machine. Where sshd forwards no sockets,
// each is a process that speaks to that one.
#pragma once

#include "client/async/child_process.hpp"
#include "client/engine/transport/ssh/commons.hpp"
#include "client/engine/transport/ssh/link.hpp"
#include "client/engine/transport/ssh/settings.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>

namespace dockdist {

// Logs in, by questions to the person at the terminal where the configuration allows them. `why`: for
// messages. Errors: not_found, there is no ssh; unreachable, timeout; without `where`.
Task<Result<std::shared_ptr<SshLink>>> start_user_ssh(boost::asio::any_io_executor executor,
                                                      EngineAddress address, SshSettings settings,
                                                      std::string why, std::chrono::milliseconds limit);

// By the connection of the settings' control_path, if the user has one open there; else null. Errors:
// internal.
Result<std::shared_ptr<SshLink>> open_user_ssh(const boost::asio::any_io_executor& executor,
                                               const SshSettings& settings);

} // namespace dockdist
