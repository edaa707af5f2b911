#include "client/engine/transport/ssh/remote_socket.hpp"

#include "client/container/engine_words.hpp"
#include "client/engine/transport/connect_error.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

namespace dockdist {
namespace {

constexpr std::string_view answers = "answers ";
constexpr std::string_view state_word = "dockdist: the socket is ";

// Of the command line that comes with the engine: a host of Podman's may have no `docker`.
std::string engine_command(const std::string& path) {
    const std::string program = is_podman_socket(path) ? "podman --url " : "docker -H ";
    return path.empty() ? "docker" : program + shell_quote("unix://" + path);
}

} // namespace

// In a shell of our own: the user's may be any.
std::string ask_about_socket_command(const std::string& path) {
    const auto socket = shell_quote(path.empty() ? std::string(default_engine_socket) : path);
    return "sh -c " +
           shell_quote(fmt::format(
               "printf '{3}'; if [ ! -S {0} ]; then echo missing; elif [ -w {0} ]; then echo writable; else "
               "echo forbidden; fi; {1} version --format '{2}{{{{.Server.Version}}}}' 2>&1",
               socket, engine_command(path), answers, state_word));
}

SocketReport parse_socket_report(std::string_view output) {
    SocketReport report;
    const auto begin = output.find(state_word); // behind whatever the host's shell says first
    if (begin == std::string_view::npos) {
        return report;
    }
    const auto lines = split(output.substr(begin + state_word.size()), '\n');
    using State = SocketReport::State;
    report.state = lines[0] == "missing"     ? State::missing
                   : lines[0] == "forbidden" ? State::forbidden
                   : lines[0] == "writable"  ? State::writable
                                             : State::unknown;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        if (lines[i].starts_with(answers)) {
            const auto version = lines[i].substr(answers.size()); // without an engine: "", or "<no value>"
            report.command_works = !version.empty() && version.front() >= '0' && version.front() <= '9';
        } else if (report.complaint.empty() && !lines[i].empty()) {
            report.complaint = printable(lines[i]);
        }
    }
    if (report.command_works) {
        report.complaint.clear();
    }
    return report;
}

std::string dial_command(const std::string& path) {
    return engine_command(path) + " system dial-stdio";
}

Error socket_error(const SocketReport& report, const std::string& where, const std::string& user,
                   const std::string& path, const std::string& refusal) {
    const auto socket = path.empty() ? std::string(default_engine_socket) : path;
    const bool podman = is_podman_socket(socket);
    const auto& words = words_of_socket(socket);
    switch (report.state) {
    case SocketReport::State::forbidden:
        return {ErrorKind::unreachable, "", fmt::format("{} may not use {} on {}", user, socket, where),
                podman ? fmt::format("reach it as ssh://root@HOST{}, or that user's own Podman: `systemctl "
                                     "--user start podman.socket` there, and "
                                     "ssh://USER@HOST/run/user/UID/podman/podman.sock",
                                     socket)
                       : fmt::format("add that user to the group docker there: sudo usermod -aG docker {} "
                                     "(it counts from the next login on)",
                                     shell_quote(user))};
    case SocketReport::State::missing:
        return {ErrorKind::unreachable, "", fmt::format("there is no socket {} on {}", socket, where),
                fmt::format("is {} installed and running there? ({}); a socket elsewhere: "
                            "ssh://USER@HOST/path/of/{}.sock{}",
                            words.name, words.start, words.program,
                            podman ? "" : "; Podman's: ssh://root@HOST/run/podman/podman.sock")};
    case SocketReport::State::writable:
        return {ErrorKind::unreachable, "",
                fmt::format("sshd on {} did not connect us to {} ({}), and `{}` there says: {}", where,
                            socket, refusal, words.program,
                            report.complaint.empty() ? "nothing" : report.complaint),
                fmt::format("if {} has stopped, start it ({}); else allow `AllowStreamLocalForwarding yes` "
                            "in sshd_config, or install {}'s command line there",
                            words.service, words.start, words.name)};
    default:
        return {ErrorKind::unreachable, "",
                fmt::format("sshd on {} neither connects us to {} ({}) nor runs a command for {}", where,
                            socket, refusal, user),
                "allow `AllowStreamLocalForwarding yes` in its sshd_config"};
    }
}

} // namespace dockdist
