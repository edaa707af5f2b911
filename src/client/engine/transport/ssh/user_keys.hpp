// The keys that dockdist itself can log in with: those of the agent, and plain files.
#pragma once

#include "client/async/task.hpp"
#include "client/engine/transport/ssh/agent.hpp"
#include "client/engine/transport/ssh/key_file.hpp"
#include "client/engine/transport/ssh/settings.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct UserKey {
    std::string name{}; // "~/.ssh/id_ed25519", "ssh-ed25519 (agent: ada@here)"
    std::string blob{};
    std::optional<PrivateKey> file{}; // empty: the agent's
};

struct UserKeys {
    std::vector<UserKey> keys{}; // in the order in which ssh tries them
    std::shared_ptr<SshAgent> agent{};
    std::vector<std::string> left_out{};    // what only ssh itself can use, and why
    std::vector<std::string> unavailable{}; // what nobody can use: "no ssh agent runs"
    bool only_by_ssh = false;               // the first of left_out is a certificate, or there are no keys
};

// Nothing of it fails: what cannot be had is said in its lists.
Task<UserKeys> find_user_keys(boost::asio::any_io_executor executor, SshSettings settings);

} // namespace dockdist
