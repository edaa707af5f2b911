// The user's own ssh as a way to a host: what it is called with, and what it says when it fails. Pure.
#pragma once

#include "client/engine/transport/ssh/settings.hpp"
#include "shared/core/engine_address.hpp"
#include "shared/core/error.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

// The connection: an ssh that carries others, over the socket `control`, until it is ended. It says
// user_ssh_ready when it is logged in. `asks`: it may ask questions.
std::vector<std::string> user_ssh_command(const EngineAddress& address, const SshSettings& settings,
                                          const std::string& control, bool asks,
                                          std::chrono::milliseconds connect_limit);
inline constexpr std::string_view user_ssh_ready = "dockdist: logged in";

// Lets it forward the socket `here` to `there`. Empty where ssh cannot be told that path.
std::vector<std::string> forward_command(const std::string& control, const std::string& here,
                                         const std::string& there);
// Takes that back.
std::vector<std::string> cancel_command(const std::string& control, const std::string& here,
                                        const std::string& there);
// A command on the host, by the connection of `control` and no other.
std::vector<std::string> remote_command(const std::string& control, const std::string& command);
// Whether the complaints of such a command say that there is no room for one more on the connection.
bool is_crowded(std::string_view complaints);
// Whether those of the connection say that sshd has turned it away before it had said a word.
bool is_turned_away(std::string_view complaints);

// Why there is no connection. `why`: for what reason it goes by the user's own ssh.
Error user_ssh_error(const std::string& where, const SshSettings& settings, std::string_view complaints,
                     const std::string& why);

} // namespace dockdist
