// A new ssh connection to a host: reached, checked, logged in.
#pragma once

#include "core/engine_address.hpp"
#include "engine/transport/ssh/session.hpp"
#include "engine/transport/ssh/settings.hpp"

#include <chrono>
#include <memory>

namespace dockdist {

// An sshd that turns us away before it has said a word (it does so when many log in at once: MaxStartups) is
// asked again, until `limit` has passed, four times that when it says that this is why. `limit` is also that
// of each attempt to connect. Errors: unreachable, timeout, config; without `where`.
Task<Result<std::shared_ptr<SshSession>>> establish_ssh(boost::asio::any_io_executor executor,
                                                        EngineAddress address, SshSettings settings,
                                                        std::chrono::milliseconds limit);

} // namespace dockdist
