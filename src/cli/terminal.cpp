#include "cli/terminal.hpp"

#include "async/run_all.hpp"
#include "container/exec_command.hpp"
#include "core/exit_codes.hpp"
#include "report/output.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <array>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace dockdist {
namespace {

constexpr auto use_tuple = boost::asio::as_tuple(boost::asio::use_awaitable);

class Session {
public:
    Session(const boost::asio::any_io_executor& executor, ContainerEngine& engine, bool tty,
            std::unique_ptr<StartedExec> stream)
        : engine_(engine), tty_(tty), stream_(std::move(stream)), input_(executor), resized_(executor) {}

    Task<Result<int>> run() {
        std::vector<Task<Status>> tasks;
        tasks.push_back(copy_output());
        tasks.push_back(copy_input());
        if (tty_) {
            resized_.add(SIGWINCH);
            tasks.push_back(follow_size());
        }
        auto results = co_await run_all(std::move(tasks));
        if (!results.front()) {
            co_return results.front().error();
        }
        const auto exec = stream_->id();
        stream_.reset();
        const auto state = co_await engine_.inspect_exec(exec);
        if (!state) {
            co_return state.error();
        }
        co_return state->exit_code.value_or(exit_codes::cannot_start);
    }

private:
    // The end of the output ends the session: input and size have nothing to do any more.
    Task<Status> copy_output() {
        FdSink sink;
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
            sink.write(chunk->stream == StdStream::err ? STDERR_FILENO : STDOUT_FILENO,
                       Displayable::raw(chunk->bytes));
        }
        ended_ = true;
        boost::system::error_code ignored;
        ignored = input_.close(ignored);
        ignored = resized_.cancel(ignored);
        co_return result;
    }

    // A copy of descriptor 0, because Asio makes its descriptors non-blocking, which would outlive us on a
    // terminal that we share: the wait is Asio's, the read is ours.
    Task<Status> copy_input() {
        const int copy = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
        boost::system::error_code error;
        if (copy < 0 || (input_.assign(copy, error), error)) {
            co_return co_await end_of_input(); // a regular file cannot be waited for; neither can a closed
                                               // stdin
        }
        std::array<char, 32768> buffer{};
        while (!ended_) {
            const auto [wait_error] =
                co_await input_.async_wait(boost::asio::posix::stream_descriptor::wait_read, use_tuple);
            if (wait_error || ended_) {
                co_return ok;
            }
            const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
                continue;
            }
            if (count <= 0) {
                co_return tty_ ? Status(ok) : co_await stream_->close_stdin();
            }
            if (auto written = co_await stream_->write({buffer.data(), static_cast<std::size_t>(count)});
                !written) {
                co_return written;
            }
        }
        co_return ok;
    }

    // A regular file (`< script`) is read to its end at once.
    Task<Status> end_of_input() {
        std::array<char, 32768> buffer{};
        while (!ended_) {
            const auto count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
            if (count <= 0) {
                break;
            }
            if (auto written = co_await stream_->write({buffer.data(), static_cast<std::size_t>(count)});
                !written) {
                co_return written;
            }
        }
        if (tty_ || ended_) {
            co_return ok;
        }
        co_return co_await stream_->close_stdin();
    }

    Task<Status> follow_size() {
        while (!ended_) {
            const auto size = terminal_size(STDOUT_FILENO);
            co_await engine_.resize_exec(stream_->id(), static_cast<int>(size.rows),
                                         static_cast<int>(size.columns));
            if (ended_) {
                break;
            }
            const auto [error, signal] = co_await resized_.async_wait(use_tuple);
            if (error) {
                break;
            }
        }
        co_return ok;
    }

    ContainerEngine& engine_;
    bool tty_;
    std::unique_ptr<StartedExec> stream_;
    boost::asio::posix::stream_descriptor input_;
    boost::asio::signal_set resized_;
    bool ended_ = false;
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

Task<Result<int>> exec_with_stdio(ContainerEngine& engine, ContainerId id, ExecConfig config) {
    const bool tty = config.tty;
    config.stdin_open = true;
    auto exec = co_await start_command(engine, id, std::move(config));
    if (!exec) {
        co_return exec.error();
    }
    std::optional<RawTerminal> raw;
    if (tty) {
        raw.emplace();
    }
    Session session(co_await boost::asio::this_coro::executor, engine, tty, std::move(*exec));
    co_return co_await session.run();
}

} // namespace dockdist
