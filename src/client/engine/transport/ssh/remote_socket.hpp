// Why sshd does not connect us to the engine's socket. sshd itself gives one answer to all reasons, so the
// host is asked by a command.
#pragma once

#include "shared/core/error.hpp"

#include <string>
#include <string_view>

namespace dockdist {

inline constexpr std::string_view default_engine_socket = "/var/run/docker.sock";

// `path` may be empty: the default one, and the docker command line's own. A socket of Podman's (by its name)
// is asked by podman's.
std::string ask_about_socket_command(const std::string& path);

struct SocketReport {
    enum class State { unknown, missing, forbidden, writable };
    State state = State::unknown;
    bool command_works = false; // dial_command would reach an engine
    std::string complaint{};    // of the engine's command line
    bool operator==(const SocketReport&) const = default;
};
SocketReport parse_socket_report(std::string_view output);

// Its stdin and stdout are a connection to the engine: `docker system dial-stdio`, which Podman has, too.
std::string dial_command(const std::string& path);

// `refusal` is sshd's.
Error socket_error(const SocketReport& report, const std::string& where, const std::string& user,
                   const std::string& path, const std::string& refusal);

} // namespace dockdist
