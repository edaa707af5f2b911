#include "client/engine/transport/connect_error.hpp"

#include "shared/core/ascii.hpp"
#include "shared/core/units.hpp"

#include <boost/asio/error.hpp>
#include <fmt/format.h>

namespace dockdist {
namespace {

namespace errc = boost::system::errc;

Error unreachable(std::string message, std::string hint) {
    return {ErrorKind::unreachable, "", std::move(message), std::move(hint)};
}

Error unix_error(const EngineAddress& address, const boost::system::error_code& error) {
    const bool podman = is_podman_socket(address.path);
    const auto& words = words_of_socket(address.path);
    if (error == errc::permission_denied || error == errc::operation_not_permitted) {
        return unreachable(fmt::format("permission denied on {}", address.path),
                           podman ? "use sudo, or your own Podman: `systemctl --user start podman.socket`, "
                                    "whose socket is $XDG_RUNTIME_DIR/podman/podman.sock"
                                  : "add yourself to the docker group (sudo usermod -aG docker $USER, then "
                                    "log in again), or use sudo");
    }
    if (error == errc::no_such_file_or_directory || error == errc::not_a_directory) {
        return unreachable(
            fmt::format("no socket at {}", address.path),
            fmt::format("is {} installed and running on this machine? ({})", words.name, words.start));
    }
    if (error == errc::connection_refused) {
        return unreachable(fmt::format("nothing listens on {}", address.path),
                           fmt::format("{} has stopped; start it ({})", words.service, words.start));
    }
    return unreachable(fmt::format("cannot connect to {}: {}", address.path, error.message()), "");
}

} // namespace

bool is_podman_socket(std::string_view path) {
    return path.find("podman") != std::string_view::npos;
}

bool is_users_socket(std::string_view path) {
    return path.starts_with("/run/user/");
}

const EngineWords& words_of_socket(std::string_view path) {
    return words_of(is_podman_socket(path), is_users_socket(path));
}

Error connect_error(const EngineAddress& address, const boost::system::error_code& error) {
    if (error == errc::too_many_files_open || error == errc::too_many_files_open_in_system) {
        return unreachable("too many open files on this machine", "raise the limit (ulimit -n)");
    }
    if (address.scheme == EngineAddress::Scheme::unix_socket) {
        return unix_error(address, error);
    }
    if (error == errc::connection_refused && address.scheme == EngineAddress::Scheme::ssh) {
        return unreachable(
            fmt::format("{} refused the connection to port {}", address.url, address.port.number),
            "does sshd run there, and on that port? (ssh://USER@HOST:PORT)");
    }
    if (error == errc::connection_refused) {
        return unreachable(
            fmt::format("{} refused the connection", address.url),
            fmt::format("is Docker listening on port {} there? dockerd listens on TCP only with -H tcp://…; "
                        "ssh://USER@{} needs no such setting",
                        address.port.number, address.host));
    }
    if (error == errc::host_unreachable || error == errc::network_unreachable) {
        return unreachable(fmt::format("no route to {}", address.url),
                           "is the machine up, and is it reachable from here (network, VPN, firewall)?");
    }
    if (error == errc::timed_out) {
        return {ErrorKind::timeout, "", fmt::format("{} did not answer", address.url),
                "is the machine up, and does a firewall drop packets to that port?"};
    }
    if (error == boost::asio::error::host_not_found ||
        error == boost::asio::error::host_not_found_try_again || error == boost::asio::error::no_data ||
        error == boost::asio::error::no_recovery) {
        return unreachable(
            fmt::format("the name '{}' does not resolve", address.host),
            to_lower(address.host).ends_with(".local")
                ? "names in .local are multicast DNS's (avahi, Bonjour), which dockdist does not ask: "
                  "use the machine's IP address, or give it the name in /etc/hosts"
                : "check the spelling in cluster.yaml, or use the machine's IP address");
    }
    return unreachable(fmt::format("cannot connect to {}: {}", address.url, error.message()), "");
}

Error connect_timeout_error(const EngineAddress& address, std::chrono::milliseconds limit) {
    auto error = connect_error(address, errc::make_error_code(errc::timed_out));
    error.kind = ErrorKind::timeout;
    error.message = fmt::format("no connection to {} within {}", address.url, format_duration(limit));
    return error;
}

Error stream_error(const boost::system::error_code& error) {
    if (error == errc::timed_out) {
        return {ErrorKind::timeout, "", "the connection to the engine died: the machine no longer answers",
                "is the machine up, and the network to it?"};
    }
    return unreachable(fmt::format("the connection to the engine was lost: {}", error.message()), "");
}

} // namespace dockdist
