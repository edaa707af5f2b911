#include "client/cli/ask_yes.hpp"

#include "client/async/throw_if_cancelled.hpp"
#include "client/report/output.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr std::size_t longest_answer = 64;

class HeldOutput {
public:
    explicit HeldOutput(const Context& context) : context_(context) { hold(true); }
    HeldOutput(const HeldOutput&) = delete;
    HeldOutput& operator=(const HeldOutput&) = delete;
    ~HeldOutput() { hold(false); }

private:
    void hold(bool asking) const {
        if (context_.hold_output) {
            context_.hold_output(asking);
        }
    }
    const Context& context_;
};

} // namespace

bool can_ask(const Context& context) {
    return !context.json() && ::isatty(STDIN_FILENO) == 1 && ::isatty(STDERR_FILENO) == 1;
}

Task<bool> ask_yes(const Context& context, std::string question) {
    const int number = ::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (number < 0) {
        co_return false;
    }
    const HeldOutput held(context);
    boost::asio::posix::stream_descriptor terminal(context.executor, number);
    const auto shown = printable(question) + " [y/N] ";
    ::tcflush(number, TCIFLUSH); // what was typed before the question is no answer to it
    FdSink().write(number, Displayable::text(shown));
    std::string answer;
    std::array<char, longest_answer> buffer{};
    while (!answer.ends_with('\n') && answer.size() < longest_answer) {
        const auto [error, count] = co_await terminal.async_read_some(
            boost::asio::buffer(buffer), boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            co_return false;
        }
        answer.append(buffer.data(), count);
    }
    const auto word = to_lower(answer.substr(0, answer.find_first_of(" \t\r\n")));
    co_return word == "y" || word == "yes";
}

} // namespace dockdist
