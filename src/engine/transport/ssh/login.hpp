// The first steps on a new ssh connection: keys are agreed on, the host proves who it is, and we prove who we
// are.
#pragma once

#include "engine/transport/ssh/session.hpp"
#include "engine/transport/ssh/settings.hpp"

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace dockdist {

// What is asked for on the terminal once, though many hosts want it.
struct SshSecrets {
    explicit SshSecrets(const boost::asio::any_io_executor& executor) : asking(executor, 1) {}
    Limiter asking;                                   // held until it is known whether the answer was right
    std::map<std::string, std::string> passphrases{}; // of keys, by path
    std::set<std::string> refused{};                  // keys whose passphrase nobody knows
    std::function<void(bool)> hold = [](bool) {};     // see on_terminal_questions(); may be empty
};

// Never trusts a key that known_hosts does not hold. Errors: unreachable, timeout, config; without `where`.
// The session is of no use after one.
Task<Status> agree_and_check_host(std::shared_ptr<SshSession> session, SshSettings settings);
Task<Status> log_in(std::shared_ptr<SshSession> session, SshSettings settings,
                    std::shared_ptr<SshSecrets> secrets);

} // namespace dockdist
