#include "client/engine/transport/ssh/terminal_question.hpp"

#include "client/engine/transport/socket_stream.hpp"
#include "shared/core/fd.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>

#include <array>
#include <fcntl.h>
#include <string_view>
#include <termios.h>
#include <unistd.h>

namespace dockdist {
namespace {

// The question goes, so that what stood on the terminal before it can be drawn on as if nothing had been.
constexpr std::string_view erase = "\r\x1b[K";

int open_terminal() {
    return ::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

// Of several lines, as one-time codes are asked for.
std::string shown_on_terminal(std::string_view text) {
    std::string shown;
    for (const auto& line : split(text, '\n')) {
        shown += (shown.empty() ? "" : "\n") + printable(line);
    }
    return shown;
}

class SilentTerminal {
public:
    explicit SilentTerminal(int terminal) : terminal_(terminal) {
        ::tcgetattr(terminal_, &before_);
        termios silent = before_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        ::tcsetattr(terminal_, TCSAFLUSH, &silent);
    }
    SilentTerminal(const SilentTerminal&) = delete;
    SilentTerminal& operator=(const SilentTerminal&) = delete;
    ~SilentTerminal() {
        ::tcsetattr(terminal_, TCSAFLUSH, &before_);
        (void)!::write(terminal_, erase.data(), erase.size());
    }

private:
    int terminal_;
    termios before_{};
};

} // namespace

bool has_terminal() {
    return (::isatty(STDERR_FILENO) != 0 || ::isatty(STDOUT_FILENO) != 0) && Fd(open_terminal()).open();
}

Task<Result<std::string>> ask_on_terminal(boost::asio::any_io_executor executor, std::string prompt) {
    const int number = open_terminal();
    if (number < 0) {
        co_return Error{ErrorKind::config, "", "there is no terminal to ask on", ""};
    }
    boost::asio::posix::stream_descriptor terminal(executor, number);
    const SilentTerminal silence(number);
    const auto shown = shown_on_terminal(prompt);
    (void)!::write(number, shown.data(), shown.size());
    std::string line;
    std::array<char, 256> buffer{};
    while (!line.ends_with('\n')) {
        const auto [error, count] = co_await terminal.async_read_some(
            boost::asio::buffer(buffer), boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_return Error{ErrorKind::config, "", "no answer was given", ""};
        }
        line.append(buffer.data(), count);
    }
    line.pop_back();
    co_return line;
}

TerminalNote::TerminalNote(const std::string& text) : terminal_(open_terminal()) {
    const auto shown = shown_on_terminal(text);
    (void)!::write(terminal_, shown.data(), shown.size());
}

TerminalNote::~TerminalNote() {
    (void)!::write(terminal_, erase.data(), erase.size());
    ::close(terminal_);
}

} // namespace dockdist
