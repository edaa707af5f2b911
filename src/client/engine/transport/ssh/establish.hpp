// A new ssh connection to a host: reached, checked, logged in.
#pragma once

#include "client/engine/transport/ssh/session.hpp"
#include "client/engine/transport/ssh/settings.hpp"
#include "client/engine/transport/ssh/user_keys.hpp"
#include "shared/core/engine_address.hpp"

#include <chrono>
#include <memory>
#include <random>
#include <string>

namespace dockdist {

// The machine in messages, and where its logins are counted: the jump host's sshd, where there is one.
std::string ssh_name_of(const SshSettings& settings);
std::string ssh_login_of(const SshSettings& settings);

// For an sshd that turns us away before it has said a word (it does so when many log in at once:
// MaxStartups).
class SshPatience {
public:
    explicit SshPatience(std::chrono::milliseconds limit);
    // Pauses, longer each time; false when the limit has passed, four times that where it says that there is
    // a crowd.
    Task<bool> lasts(bool crowd);

private:
    std::chrono::milliseconds limit_, crowd_limit_, pause_;
    std::chrono::steady_clock::time_point begin_;
    std::minstd_rand random_;
};

// `limit` is that of each attempt to connect, and of the patience with an sshd that turns us away. `beyond`:
// set when it fails and the user's own ssh may get further, to what dockdist lacks. Errors: unreachable,
// timeout, config; without `where`.
Task<Result<std::shared_ptr<SshSession>>> establish_ssh(boost::asio::any_io_executor executor,
                                                        EngineAddress address, SshSettings settings,
                                                        std::shared_ptr<const UserKeys> keys,
                                                        std::chrono::milliseconds limit, std::string& beyond);

} // namespace dockdist
