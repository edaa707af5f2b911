#include "node/session/take_members.hpp"

#include "node/system/fifo_door.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/exit_codes.hpp"

#include <cerrno>
#include <csignal>
#include <poll.h>
#include <unistd.h>

namespace dockdist::node {

std::string take_members_command() {
    return paths().own + " take-members";
}

int take_members() {
    ::signal(SIGPIPE, SIG_IGN);
    auto join = Knock::at(paths().members_door, paths().user_folder, "list", KnockWith::words);
    if (!join) {
        return 0;
    }
    if (!join->await_heard()) {
        return exit_codes::failed;
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
        if (!join->write({piece, static_cast<std::size_t>(count)})) {
            return exit_codes::failed;
        }
    }
    join->end_words();
    pollfd answer{.fd = join->from(), .events = POLLIN, .revents = 0};
    while (::poll(&answer, 1, -1) < 0 && errno == EINTR) {
    }
    return ::read(join->from(), piece, 1) == 1 ? 0 : exit_codes::failed;
}

} // namespace dockdist::node
