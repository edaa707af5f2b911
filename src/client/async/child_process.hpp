// Programs that are run beside dockdist: `ssh -G`, the proxy of a connection, docker's credential helpers.
#pragma once

#include "client/async/task.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dockdist {

// What becomes of a program when this process is gone without having ended it (SIGKILL). One that then ends
// has a session of its own: it cannot ask on our terminal, and what it has started ends with it.
enum class IfWeDie { leave, end };

// Destroying it ends the program. It does not see Ctrl-C of the terminal: what is cleaned up after an
// interrupt still needs the connection.
class ChildProcess {
public:
    // Its stdin and stdout are the other end of `socket`; it begins in `folder`, or here. Its program is
    // found as shared/core/program_path.hpp says. Errors: not_found (no such program), internal.
    static Result<std::unique_ptr<ChildProcess>> start(const boost::asio::any_io_executor& executor,
                                                       const std::vector<std::string>& command,
                                                       const std::string& folder = {},
                                                       IfWeDie if_we_die = IfWeDie::leave);
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;
    ~ChildProcess();

    boost::asio::local::stream_protocol::socket& socket() { return socket_; }
    // The last line that it wrote to stderr.
    std::string complaint() const;
    // The last 2 KiB of that.
    std::string complaints() const;
    // Ends it, and waits for that. Its exit code, 128+N after a signal.
    int end(int signal);
    // Closes the socket and leaves it to end by itself at that, in its own time; pending reads and writes end
    // with an error.
    void let_go();

private:
    ChildProcess(boost::asio::local::stream_protocol::socket socket, pid_t pid, int errors, bool leads)
        : socket_(std::move(socket)), pid_(pid), errors_(errors), leads_(leads) {}

    boost::asio::local::stream_protocol::socket socket_;
    pid_t pid_;
    int errors_; // a file in memory: a program that complains at length is never blocked by us
    bool leads_; // a group of processes, which ends as a whole
};

// Runs on when this process has ended: a session of its own, and none of our stdin, stdout and stderr. Its
// process id, for waitpid(). Errors: as start().
Result<pid_t> start_detached(const std::vector<std::string>& command);

struct ProgramAnswer {
    std::string output{};
    std::string complaint{}; // the last line of stderr
    int exit_code = 0;
};
// What it writes to stdout until it closes that, given `input` as its whole stdin. One that writes more than
// `most_output` is killed; what it has written until then is there. Errors: as start(), and
// timeout.
Task<Result<ProgramAnswer>> run_and_read(boost::asio::any_io_executor executor,
                                         std::vector<std::string> command, std::chrono::milliseconds limit,
                                         std::string input = {}, std::size_t most_output = 1 << 20,
                                         std::string folder = {});

} // namespace dockdist
