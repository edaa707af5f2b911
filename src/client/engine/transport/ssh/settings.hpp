// How the user's own ssh would reach a host: what `ssh -G` says.
#pragma once

#include "client/async/task.hpp"
#include "client/engine/transport/ssh/algorithms.hpp"
#include "shared/core/engine_address.hpp"

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
    std::vector<std::string> identity_files{};  // paths of private keys, in the order to try
    bool identities_only = false;               // of the agent's keys only those that are also named here
    bool batch = false;                         // nobody is asked for anything
    std::vector<std::string> other_logins{};    // than by a key, that the configuration allows
    std::string agent_socket{};                 // empty: no agent
    std::vector<std::string> known_hosts{};     // paths: the user's, then the machine's
    std::string host_key_alias{};               // stands for host in known_hosts
    bool check_address = false;                 // known_hosts may hold no other key for its address
    bool strict = true;                         // ssh never takes a host key that it cannot check
    bool checks_otherwise = false;              // ssh may check a host key without known_hosts (DNS, GSSAPI)
    std::string control_path{};                 // of a connection that may be open already
    std::string local_command{};                // what ssh runs here once it is logged in
    std::vector<std::string> session_options{}; // "RemoteCommand=none": for a session that is dockdist's
    SshAlgorithms algorithms{};
    std::vector<std::string> proxy{}; // argv of a program whose stdin and stdout are the connection
    std::string proxy_name{};         // the first machine met on that way, for messages
    std::optional<std::chrono::milliseconds> connect_timeout{};
    std::chrono::seconds alive_interval{10};
    int alive_count = 2;
    std::string beyond{}; // "bindaddress 10.0.0.1": a line that only ssh itself can obey; empty: none
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
