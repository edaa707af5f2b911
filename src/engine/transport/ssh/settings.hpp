// How the user's own ssh would reach a host: what `ssh -G` says.
#pragma once

#include "async/task.hpp"
#include "core/engine_address.hpp"
#include "engine/transport/ssh/algorithms.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct SshSettings {
    std::string alias{}; // what the address calls the host
    std::string host{};  // name or numeric address
    std::string user{};
    Port port{22};
    std::vector<std::string> identity_files{}; // paths of private keys, in the order to try
    bool identities_only = false;              // of the agent's keys only those that are also named here
    bool batch = false;                        // nobody is asked for a passphrase
    std::string agent_socket{};                // empty: no agent
    std::vector<std::string> known_hosts{};    // paths: the user's, then the machine's
    std::vector<std::string> revoked_keys{};   // paths of RevokedHostKeys
    std::string host_key_alias{};              // stands for host in known_hosts
    bool check_address = false;                // known_hosts may hold no other key for its address
    SshAlgorithms algorithms{};
    std::vector<std::string> proxy{}; // argv of a program whose stdin and stdout are the connection
    std::string proxy_name{};         // the first machine met on that way, for messages
    std::optional<std::chrono::milliseconds> connect_timeout{};
    std::chrono::seconds alive_interval{10};
    int alive_count = 2;
    std::vector<std::string> beyond{}; // "BindAddress 10.0.0.1": lines that dockdist itself cannot obey
    bool operator==(const SshSettings&) const = default;
};

// What the settings' `~`, `%d` and `${NAME}` stand for.
struct SshSurroundings {
    std::string home{};
    std::string user{};
    std::function<std::optional<std::string>(const std::string&)> environment{};
};
SshSurroundings ssh_surroundings(); // of this process

// The command that asks for the settings. `--` keeps what follows from being read as an option.
std::vector<std::string> ssh_settings_command(const EngineAddress& address);

// `text` is what that command printed; what it does not say stays at its default. Never fails: ssh itself has
// judged the file.
SshSettings parse_ssh_settings(std::string_view text, const EngineAddress& address,
                               const SshSurroundings& surroundings);

// Runs that command; without an ssh program its defaults hold. Errors: config (ssh refuses its own file),
// timeout; without `where`.
Task<Result<SshSettings>> read_ssh_settings(boost::asio::any_io_executor executor, EngineAddress address);

} // namespace dockdist
