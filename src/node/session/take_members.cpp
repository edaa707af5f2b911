#include "node/session/take_members.hpp"

#include "core/exit_codes.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/unix_socket.hpp"

#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <unistd.h>

namespace dockdist::node {

std::string take_members_command() {
    return paths().own + " take-members";
}

int take_members() {
    ::signal(SIGPIPE, SIG_IGN);
    const auto join = connect_unix(paths().members_socket, SOCK_STREAM);
    if (!join) {
        return 0;
    }
    char piece[65536];
    while (true) {
        const auto count = ::read(STDIN_FILENO, piece, sizeof piece);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return exit_codes::failed;
        }
        if (count == 0) {
            break;
        }
        if (!write_all(join->get(), {piece, static_cast<std::size_t>(count)})) {
            return exit_codes::failed;
        }
    }
    ::shutdown(join->get(), SHUT_WR);
    return ::read(join->get(), piece, 1) == 1 ? 0 : exit_codes::failed;
}

} // namespace dockdist::node
