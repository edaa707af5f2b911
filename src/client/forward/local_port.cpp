#include "client/forward/local_port.hpp"

#include "client/async/listen_at.hpp"
#include "shared/core/listening_sockets.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

namespace dockdist {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr int most_tries = 32; // of a free port that is free for both families

std::string file_text(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

bool has_socket(const std::filesystem::path& process, const std::set<std::string>& sockets) {
    std::error_code failed;
    for (std::filesystem::directory_iterator fd(process / "fd", failed), end; !failed && fd != end;
         fd.increment(failed)) {
        std::error_code gone;
        if (sockets.contains(std::filesystem::read_symlink(fd->path(), gone).string())) {
            return true;
        }
    }
    return false;
}

// ", by jupyter-lab (pid 123)"; empty where it is another user's, or there is no /proc.
std::string holder_of(int port) {
    auto sockets = listening_sockets(file_text("/proc/net/tcp"), port);
    sockets.merge(listening_sockets(file_text("/proc/net/tcp6"), port));
    std::error_code failed;
    for (std::filesystem::directory_iterator entry("/proc", failed), end;
         !failed && !sockets.empty() && entry != end; entry.increment(failed)) {
        const auto name = entry->path().filename().string();
        if (std::isdigit(static_cast<unsigned char>(name.front())) != 0 &&
            has_socket(entry->path(), sockets)) {
            const auto program = file_text(entry->path() / "comm");
            return fmt::format(", by {} (pid {})", printable(program.substr(0, program.find('\n'))), name);
        }
    }
    return "";
}

bool has_no_such_address(const error_code& error) {
    return error == boost::system::errc::address_not_available ||
           error == boost::system::errc::address_family_not_supported ||
           error == boost::system::errc::protocol_not_supported;
}

Error cannot_listen(const ForwardPort& wanted, const error_code& error) {
    const auto where = fmt::format("port {}", wanted.local);
    if (error == boost::system::errc::address_in_use) {
        return {ErrorKind::conflict, where, "it is in use on this machine" + holder_of(wanted.local),
                fmt::format("choose another one: {} takes any that is free",
                            forward_port_text({.local = 0, .target = wanted.target}))};
    }
    if (error == boost::system::errc::permission_denied) {
        return {ErrorKind::conflict, where, "ports below 1024 are root's on this machine",
                "choose another one: " +
                    forward_port_text({.local = wanted.local + 8000, .target = wanted.target})};
    }
    return {ErrorKind::internal, where, "cannot listen: " + error.message(), ""};
}

} // namespace

std::vector<std::string> LocalPort::addresses() const {
    std::vector<std::string> all;
    for (const auto& acceptor : acceptors) {
        error_code ignored;
        all.push_back(acceptor.local_endpoint(ignored).address().to_string());
    }
    return all;
}

std::string LocalPort::url() const {
    return fmt::format("http://127.0.0.1:{}", number);
}

Result<LocalPort> take_local_port(const boost::asio::any_io_executor& executor, const ForwardPort& wanted) {
    const auto port = static_cast<unsigned short>(wanted.local);
    for (int tries = 0;; ++tries) {
        tcp::acceptor ipv4(executor);
        if (const auto error = bind_at(ipv4, {boost::asio::ip::address_v4::loopback(), port})) {
            return cannot_listen(wanted, error);
        }
        LocalPort made{.target = wanted.target, .number = ipv4.local_endpoint().port()};
        made.acceptors.push_back(std::move(ipv4));
        tcp::acceptor ipv6(executor);
        const auto error = bind_at(
            ipv6, {boost::asio::ip::address_v6::loopback(), static_cast<unsigned short>(made.number)});
        if (!error) {
            made.acceptors.push_back(std::move(ipv6));
        } else if (!has_no_such_address(error)) { // `localhost` may lead to somebody else's
            if (wanted.local == 0 && tries < most_tries) {
                continue;
            }
            return cannot_listen(wanted, error);
        }
        return made;
    }
}

LocalPorts take_local_ports(const boost::asio::any_io_executor& executor,
                            const std::vector<ForwardPort>& wanted) {
    LocalPorts all;
    for (const auto& one : wanted) {
        auto made = take_local_port(executor, one);
        if (made) {
            all.ports.push_back(std::move(*made));
        } else {
            all.errors.push_back(made.error());
        }
    }
    if (!all.errors.empty()) {
        all.ports.clear();
    }
    return all;
}

Status listen_on(LocalPort& port) {
    for (auto& acceptor : port.acceptors) {
        if (const auto error = start_listening(acceptor)) {
            return cannot_listen({.local = port.number, .target = port.target}, error);
        }
    }
    return ok;
}

} // namespace dockdist
