#include "client/async/child_process.hpp"

#include "client/async/throw_if_cancelled.hpp"
#include "client/async/with_timeout.hpp"
#include "shared/core/descriptors.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/program_path.hpp"
#include "shared/core/text.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist {
namespace {

using boost::asio::local::stream_protocol;

[[noreturn]] void become(const std::string& program, const std::vector<char*>& arguments,
                         const std::string& folder, int connection, int errors, int failure) {
    ::dup2(connection, STDIN_FILENO);
    ::dup2(connection, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    for (const int signal : {SIGINT, SIGQUIT}) {
        std::signal(signal, SIG_IGN);
    }
    std::signal(SIGPIPE, SIG_DFL);
    give_back_descriptors();
    if (folder.empty() || ::chdir(folder.c_str()) == 0) {
        ::execvp(program.c_str(), arguments.data()); // a path, which it looks for nowhere else
    }
    const int why = errno;
    (void)!::write(failure, &why, sizeof why);
    ::_exit(exit_codes::not_found);
}

std::vector<char*> argument_pointers(const std::vector<std::string>& command) {
    std::vector<char*> arguments;
    for (const auto& word : command) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    return arguments;
}

Error failed_to_start(const std::vector<std::string>& command, int why) {
    return {why == ENOENT ? ErrorKind::not_found : ErrorKind::internal, "",
            fmt::format("cannot start {}: {}", command.front(), std::strerror(why)), ""};
}

struct Descriptor {
    int number = -1;
    ~Descriptor() {
        if (number >= 0) {
            ::close(number);
        }
    }
};

enum class Session { ours, own };

void end_with(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) { // it was faster
        ::_exit(exit_codes::failed);
    }
}

// The program once it has begun, with `connection` for its stdin and stdout.
Result<pid_t> start_program(const std::vector<std::string>& command, const std::string& folder,
                            int connection, int errors, Session session, IfWeDie if_we_die) {
    std::array<int, 2> failure_ends{}; // closed by exec, or it says why exec failed
    if (connection < 0 || errors < 0 || ::pipe2(failure_ends.data(), O_CLOEXEC) != 0) {
        return failed_to_start(command, errno);
    }
    const Descriptor failure{failure_ends[0]};
    const auto program = find_in_path(command.front());
    const auto arguments = argument_pointers(command);
    const pid_t self = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        if (session == Session::own) {
            ::setsid();
        }
        if (if_we_die == IfWeDie::end) {
            end_with(self);
        }
        become(program, arguments, folder, connection, errors, failure_ends[1]);
    }
    int why = errno;
    ::close(failure_ends[1]);
    if (pid < 0) {
        return failed_to_start(command, why);
    }
    if (::read(failure.number, &why, sizeof why) == sizeof why) {
        ::waitpid(pid, nullptr, 0);
        return failed_to_start(command, why);
    }
    return pid;
}

} // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const boost::asio::any_io_executor& executor,
                                                          const std::vector<std::string>& command,
                                                          const std::string& folder, IfWeDie if_we_die) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return failed_to_start(command, errno);
    }
    const Descriptor theirs{ends[1]};
    stream_protocol::socket ours(executor, stream_protocol(), ends[0]);
    Descriptor errors{::memfd_create("stderr", MFD_CLOEXEC)};
    const bool leads = if_we_die == IfWeDie::end;
    const auto pid = start_program(command, folder, theirs.number, errors.number,
                                   leads ? Session::own : Session::ours, if_we_die);
    TRY(pid);
    return std::unique_ptr<ChildProcess>(
        new ChildProcess(std::move(ours), *pid, std::exchange(errors.number, -1), leads));
}

Result<pid_t> start_detached(const std::vector<std::string>& command) {
    const Descriptor nothing{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    return start_program(command, "", nothing.number, nothing.number, Session::own, IfWeDie::leave);
}

ChildProcess::~ChildProcess() {
    boost::system::error_code ignored;
    ignored = socket_.close(ignored);
    end(SIGKILL); // it holds nothing that it would have to put in order
    ::close(errors_);
}

int ChildProcess::end(int signal) {
    if (pid_ <= 0) {
        return 0;
    }
    ::kill(leads_ ? -pid_ : pid_, signal);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return WIFSIGNALED(status) ? exit_codes::by_signal(WTERMSIG(status)) : WEXITSTATUS(status);
}

void ChildProcess::let_go() {
    boost::system::error_code ignored;
    ignored = socket_.close(ignored);
    pid_ = 0;
}

std::string ChildProcess::complaints() const {
    std::array<char, 2048> tail{};
    struct stat file{};
    ::fstat(errors_, &file); // not lseek: the program writes at the same offset
    const auto from = std::max<off_t>(file.st_size - static_cast<off_t>(tail.size()), 0);
    const auto count = ::pread(errors_, tail.data(), tail.size(), from);
    return {tail.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

std::string ChildProcess::complaint() const {
    return last_line(complaints());
}

namespace {

Task<Result<ProgramAnswer>> read_to_the_end(std::unique_ptr<ChildProcess> child, std::string input,
                                            std::size_t most_output) {
    ProgramAnswer answer;
    std::array<char, 16384> buffer{};
    // A program that does not read what it is given says so by its answer.
    co_await boost::asio::async_write(child->socket(), boost::asio::buffer(input),
                                      boost::asio::as_tuple(boost::asio::use_awaitable));
    boost::system::error_code ignored;
    ignored = child->socket().shutdown(stream_protocol::socket::shutdown_send, ignored);
    int signal = SIGKILL;
    while (answer.output.size() < most_output) {
        const auto [error, count] = co_await child->socket().async_read_some(
            boost::asio::buffer(buffer), boost::asio::as_tuple(boost::asio::use_awaitable));
        if (error) {
            co_await throw_if_cancelled(error);
            signal = 0; // it ends by itself
            break;
        }
        answer.output.append(buffer.data(), count);
    }
    answer.exit_code = child->end(signal);
    answer.complaint = child->complaint();
    co_return answer;
}

} // namespace

Task<Result<ProgramAnswer>> run_and_read(boost::asio::any_io_executor executor,
                                         std::vector<std::string> command, std::chrono::milliseconds limit,
                                         std::string input, std::size_t most_output, std::string folder) {
    auto child = ChildProcess::start(executor, command, folder);
    CO_TRY(child);
    const Error timeout{ErrorKind::timeout, "", fmt::format("`{}` does not end", shell_join(command)), ""};
    co_return co_await with_timeout(read_to_the_end(std::move(*child), std::move(input), most_output), limit,
                                    timeout);
}

} // namespace dockdist
