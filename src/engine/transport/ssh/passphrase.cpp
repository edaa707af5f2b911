#include "engine/transport/ssh/passphrase.hpp"

#include "core/text.hpp"
#include "engine/transport/socket_stream.hpp"

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

Task<Result<std::string>> read_passphrase(boost::asio::any_io_executor executor, std::string prompt) {
    const int number = ::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (number < 0) {
        co_return Error{
            ErrorKind::config, "",
            "it has a passphrase, and there is no terminal to ask on: load it into an agent (ssh-add)", ""};
    }
    boost::asio::posix::stream_descriptor terminal(executor, number);
    const SilentTerminal silence(number);
    const auto shown = printable(prompt);
    (void)!::write(number, shown.data(), shown.size());
    std::string line;
    std::array<char, 256> buffer{};
    while (!line.ends_with('\n')) {
        const auto [error, count] = co_await terminal.async_read_some(
            boost::asio::buffer(buffer), boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_return Error{ErrorKind::config, "", "no passphrase was given", ""};
        }
        line.append(buffer.data(), count);
    }
    line.pop_back();
    co_return line;
}

} // namespace dockdist
