#include "client/cli/nodes/terminal.hpp"

#include "client/async/async_event.hpp"
#include "client/async/run_all.hpp"
#include "client/container/exec_command.hpp"
#include "client/job/nonblocking_sink.hpp"
#include "client/report/output.hpp"
#include "shared/core/exit_codes.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <functional>
#include <poll.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist {
namespace {

using namespace std::chrono_literals;

constexpr auto use_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);
constexpr std::size_t most_frames = 8; // that wait to be sent before more input is read
constexpr std::chrono::milliseconds longest_ping_pause = 5s;
constexpr std::chrono::milliseconds longest_end = 25s; // the node's grace, what a kernel holds, and the way

// Lines for a terminal in raw mode.
std::string with_returns(std::string_view lines) {
    std::string text;
    for (const char c : lines) {
        text += c == '\n' ? "\r" : "";
        text += c;
    }
    return text;
}

class Session {
public:
    Session(const boost::asio::any_io_executor& executor, ExecStream& stream, const wire::SessionAsk& ask,
            Interrupts& interrupts, std::function<void()> on_interrupt)
        : stream_(&stream), tty_(ask.terminal.has_value()), has_input_(ask.input), lease_(ask.lease_ms),
          interrupts_(interrupts), on_interrupt_(std::move(on_interrupt)), input_(executor),
          resized_(executor), to_send_(executor), sent_(executor), interrupted_(executor), over_(executor) {
        before_ = interrupts_.handle_with([this] { interrupt(); });
    }
    ~Session() { interrupts_.handle_with(std::move(before_)); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // Until its output ends.
    Task<Status> run() {
        std::vector<Task<Status>> tasks;
        tasks.push_back(copy_output());
        tasks.push_back(send_frames());
        if (has_input_) {
            tasks.push_back(copy_input());
        }
        tasks.push_back(watch_end());
        if (tty_) {
            resized_.add(SIGWINCH);
            tasks.push_back(follow_size());
        }
        auto results = co_await run_all(std::move(tasks));
        co_return results.front();
    }

private:
    // Ahead of what the command has not taken yet. Where it is to go on, this process has only to leave.
    void interrupt() {
        if (lease_.count() == 0 || interrupted_.is_set()) {
            return before_();
        }
        frames_.push_front(encode(wire::SessionFrame{.kind = wire::SessionFrame::Kind::quit}));
        to_send_.set();
        interrupted_.set();
        on_interrupt_();
    }

    // A node that does not end it in time is left with it: the end of this client is told in any case.
    Task<Status> watch_end() {
        co_await interrupted_.wait();
        if (!co_await over_.wait_at_most(longest_end)) {
            before_();
        }
        co_return ok;
    }

    // The end of the output ends the session: the others have nothing to do any more. A reader that stands
    // still (a pager) does not keep the lease from being held.
    Task<Status> copy_output() {
        NonblockingSink sink(co_await boost::asio::this_coro::executor);
        Status result = ok;
        while (true) {
            auto chunk = co_await stream_->read();
            if (!chunk) {
                result = chunk.error();
                break;
            }
            if (chunk->end) {
                break;
            }
            const bool err = chunk->stream == StdStream::err;
            if (err && tty_) { // dockdist-init's own words: the command has its terminal alone
                chunk->bytes = with_returns(chunk->bytes);
            }
            sink.write(err ? STDERR_FILENO : STDOUT_FILENO, Displayable::raw(chunk->bytes));
            co_await sink.room();
        }
        over_.set();
        to_send_.set();
        sent_.notify();
        interrupted_.set();
        boost::system::error_code ignored;
        ignored = input_.close(ignored);
        ignored = resized_.cancel(ignored);
        co_return result;
    }

    void send(const wire::SessionFrame& frame) {
        frames_.push_back(encode(frame));
        to_send_.set();
    }

    // One after another, and pings where there is nothing else to say. What cannot be written shows itself to
    // the reader.
    Task<Status> send_frames() {
        const auto pause = std::min<std::chrono::milliseconds>(longest_ping_pause, lease_ / 3);
        while (!over_.is_set()) {
            to_send_.reset();
            if (!frames_.empty()) {
                const auto frame = std::move(frames_.front());
                frames_.pop_front();
                if (auto written = co_await stream_->write(frame); !written) {
                    co_return written;
                }
                sent_.notify();
            } else if (lease_.count() == 0) {
                co_await to_send_.wait();
            } else if (!co_await to_send_.wait_at_most(pause)) {
                send({.kind = wire::SessionFrame::Kind::ping});
            }
        }
        co_return ok;
    }

    // A copy of descriptor 0, because Asio makes its descriptors non-blocking, which would outlive us on a
    // terminal that we share: the wait is Asio's, the read is ours. A regular file (`< script`) cannot be
    // waited for, and need not be.
    Task<Status> copy_input() {
        const int copy = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        boost::system::error_code error;
        bool waits = copy >= 0;
        if (waits && (input_.assign(copy, error), error)) {
            ::close(copy);
            waits = false;
        }
        std::array<char, 32768> buffer{};
        while (!over_.is_set()) {
            if (waits) {
                const auto [wait_error] =
                    co_await input_.async_wait(boost::asio::posix::stream_descriptor::wait_read, use_tuple);
                waits = wait_error != boost::asio::error::operation_not_supported;
                if ((waits && wait_error) || over_.is_set()) {
                    co_return ok;
                }
            }
            const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
                continue;
            }
            if (count <= 0) {
                if (!tty_) {
                    send({.kind = wire::SessionFrame::Kind::end});
                }
                co_return ok;
            }
            send({.kind = wire::SessionFrame::Kind::input,
                  .input = std::string(buffer.data(), static_cast<std::size_t>(count))});
            while (frames_.size() >= most_frames && !over_.is_set()) {
                co_await sent_.wait_for_change();
            }
        }
        co_return ok;
    }

    Task<Status> follow_size() {
        while (!over_.is_set()) {
            const auto [error, signal] = co_await resized_.async_wait(use_tuple);
            if (error) {
                break;
            }
            send({.kind = wire::SessionFrame::Kind::window, .window = window_size()});
        }
        co_return ok;
    }

    ExecStream* stream_;
    bool tty_, has_input_;
    std::chrono::milliseconds lease_;
    Interrupts& interrupts_;
    std::function<void()> on_interrupt_;
    std::function<void()> before_{};
    boost::asio::posix::stream_descriptor input_;
    boost::asio::signal_set resized_;
    std::deque<std::string> frames_{};
    AsyncEvent to_send_;
    AsyncEvent sent_;
    AsyncEvent interrupted_; // or over
    AsyncEvent over_;
};

} // namespace

RawTerminal::RawTerminal() {
    termios now{};
    if (tcgetattr(STDIN_FILENO, &now) == 0) {
        saved_ = now;
        cfmakeraw(&now);
        tcsetattr(STDIN_FILENO, TCSANOW, &now);
    }
}

RawTerminal::~RawTerminal() {
    if (saved_) {
        tcsetattr(STDIN_FILENO, TCSANOW, &*saved_);
    }
}

bool is_interactive() {
    return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

bool input_has_ended() {
    struct stat status{};
    if (::fstat(STDIN_FILENO, &status) != 0) {
        return true;
    }
    if (S_ISREG(status.st_mode)) {
        return ::lseek(STDIN_FILENO, 0, SEEK_CUR) >= status.st_size;
    }
    struct stat null{};
    if (S_ISCHR(status.st_mode)) {
        return ::stat("/dev/null", &null) == 0 && null.st_rdev == status.st_rdev;
    }
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return ::poll(&input, 1, 0) == 1 && input.revents == POLLHUP;
}

wire::WindowSize window_size() {
    const auto size = terminal_size(STDOUT_FILENO);
    return {.rows = static_cast<int>(size.rows), .columns = static_cast<int>(size.columns)};
}

Task<Result<int>> exec_with_stdio(ContainerEngine& engine, ContainerId id, HeldCommand command,
                                  Interrupts& interrupts, Reporter& reporter) {
    command.config.stdin_open = true;
    auto exec = co_await start_command(engine, id, std::move(command.config));
    CO_TRY(exec);
    std::optional<RawTerminal> raw;
    if (command.ask.terminal) {
        raw.emplace();
    }
    bool interrupted = false;
    {
        Session session(co_await boost::asio::this_coro::executor, **exec, command.ask, interrupts, [&] {
            interrupted = true;
            reporter.on(
                {.kind = Event::Kind::note,
                 .text = "ending what was started in " + command.where + " (Ctrl-C again: without waiting)"});
        });
        if (const auto ended = co_await session.run(); !ended && !interrupted) {
            co_return ended.error();
        }
    }
    if (interrupted) {
        co_return exit_codes::interrupted;
    }
    const auto started = (*exec)->id();
    exec->reset(); // the connection is free for the inspect
    const auto state = co_await engine.inspect_exec(started);
    CO_TRY(state);
    co_return state->exit_code.value_or(exit_codes::cannot_start);
}

} // namespace dockdist
