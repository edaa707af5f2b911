// The first steps on a new ssh connection: keys are agreed on, the host proves who it is, and we prove who we
// are.
#pragma once

#include "client/engine/transport/ssh/session.hpp"
#include "client/engine/transport/ssh/settings.hpp"
#include "client/engine/transport/ssh/user_keys.hpp"

#include <memory>

namespace dockdist {

// Never trusts a key that known_hosts does not hold. Errors: unreachable, timeout, config; without `where`.
// The session is of no use after one, and its `beyond` says whether the user's own ssh may get further.
Task<Status> agree_and_check_host(std::shared_ptr<SshSession> session, SshSettings settings);
// `asks`: there is somebody whom the user's own ssh could ask for a password.
Task<Status> log_in(std::shared_ptr<SshSession> session, SshSettings settings,
                    std::shared_ptr<const UserKeys> keys, bool asks);

} // namespace dockdist
