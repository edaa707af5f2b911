#include "node/system/pseudo_terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <limits>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr mode_t terminal_mode = 0620; // as login gives it: others may write (wall), and nobody reads
constexpr int most_side = std::numeric_limits<unsigned short>::max();
constexpr std::size_t longest_name = 64; // /dev/pts/N

// By the open end itself where the kernel can (4.13): where the image has mounted something over /dev/pts,
// the name would be another's.
Fd other_end(int own) {
    constexpr int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
    Fd other(::ioctl(own, TIOCGPTPEER, flags));
    std::array<char, longest_name> name{};
    if (!other.open() && ::ptsname_r(own, name.data(), name.size()) == 0) {
        other = Fd(::open(name.data(), flags));
    }
    return other;
}

} // namespace

Result<PseudoTerminal> open_terminal(Owner owner) {
    PseudoTerminal terminal;
    terminal.own = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!terminal.own.open() || ::unlockpt(terminal.own.get()) != 0) {
        return system_error("cannot open a terminal (/dev/ptmx)", errno);
    }
    terminal.other = other_end(terminal.own.get());
    if (!terminal.other.open()) {
        return system_error("cannot open the terminal's other end", errno);
    }
    if (::geteuid() == 0 && (::fchown(terminal.other.get(), owner.uid, owner.gid) != 0 ||
                             ::fchmod(terminal.other.get(), terminal_mode) != 0)) {
        return system_error("cannot give the terminal to its user", errno);
    }
    set_nonblocking(terminal.own.get());
    return terminal;
}

void set_window(int fd, int rows, int columns) {
    winsize size{};
    size.ws_row = static_cast<unsigned short>(std::clamp(rows, 0, most_side));
    size.ws_col = static_cast<unsigned short>(std::clamp(columns, 0, most_side));
    ::ioctl(fd, TIOCSWINSZ, &size);
}

Status enter_terminal(int other) {
    ::setsid();
    if (::ioctl(other, TIOCSCTTY, 0) != 0) {
        return system_error("cannot take the terminal", errno);
    }
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::dup2(other, stream) < 0) {
            return system_error("cannot take the terminal", errno);
        }
    }
    return ok;
}

} // namespace dockdist::node
