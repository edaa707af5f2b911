#include "client/report/output.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

std::string_view environment(const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): the client is single-threaded
    return value != nullptr ? value : "";
}

bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const auto value = environment(name);
        if (!value.empty()) {
            return value.find("UTF-8") != std::string_view::npos ||
                   value.find("utf8") != std::string_view::npos ||
                   value.find("UTF8") != std::string_view::npos ||
                   value.find("utf-8") != std::string_view::npos;
        }
    }
    return false;
}

} // namespace

void FdSink::write(int fd, const Displayable& text) {
    auto bytes = text.bytes();
    const unsigned bit = 1U << (static_cast<unsigned>(fd) & 31U);
    while (!bytes.empty() && (broken_ & bit) == 0) {
        const auto written = ::write(fd, bytes.data(), bytes.size());
        if (written >= 0) {
            bytes.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            pollfd waiting{.fd = fd, .events = POLLOUT, .revents = 0};
            ::poll(&waiting, 1, -1);
        } else if (errno != EINTR) {
            broken_ |= bit;
            error_ = error_ != 0 ? error_ : errno;
        }
    }
}

OutputTraits probe_output(int fd) {
    const auto term = environment("TERM");
    OutputTraits traits;
    const bool terminal = ::isatty(fd) == 1;
    traits.tty = terminal && !term.empty() && term != "dumb";
    traits.colour = traits.tty && environment("NO_COLOR").empty();
    traits.unicode = locale_is_utf8();
    traits.columns = terminal ? terminal_size(fd).columns : 0;
    return traits;
}

TerminalSize terminal_size(int fd) {
    TerminalSize size;
    winsize window{};
    if (::ioctl(fd, TIOCGWINSZ, &window) == 0) {
        if (window.ws_col > 0) {
            size.columns = window.ws_col;
        }
        if (window.ws_row > 0) {
            size.rows = window.ws_row;
        }
    }
    return size;
}

bool same_output(int a, int b) {
    struct stat first{};
    struct stat second{};
    if (::fstat(a, &first) != 0 || ::fstat(b, &second) != 0) {
        return false;
    }
    return first.st_dev == second.st_dev && first.st_ino == second.st_ino && first.st_rdev == second.st_rdev;
}

} // namespace dockdist
