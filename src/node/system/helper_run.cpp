#include "node/system/helper_run.hpp"

#include "node/system/os.hpp"
#include "node/system/process.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_output = 1U << 20U;
constexpr std::int64_t reap_pause_ms = 1; // between the end of its output and its own

[[noreturn]] void run_in_child(Helper& helper, int input, int output, pid_t parent) {
    reset_signals();
    ::setpgid(0, 0); // it is ended together with what it started
    const int null = ::open("/dev/null", O_RDWR);
    ::dup2(input < 0 ? null : input, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(null, STDERR_FILENO);
    take_place_of(helper);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a change of user would have taken it back
    if (::getppid() != parent) {
        ::_exit(exit_codes::cannot_start);
    }
    become_helper(helper);
}

} // namespace

HelperRun::HelperRun(Loop& loop, Helper helper, std::int64_t limit_ms,
                     std::function<void(Finished)> when_done, const Fd& input)
    : loop_(loop), when_done_(std::move(when_done)) {
    auto pipe = make_pipe();
    const pid_t own = ::getpid();
    const pid_t child = pipe ? ::fork() : -1;
    if (child == 0) {
        run_in_child(helper, input.get(), pipe->write.get(), own);
    }
    if (child < 0) {
        next_ = loop_.after(0, [this] { tell(); });
        return;
    }
    ::setpgid(child, child);
    spare_helper(child);
    pid_ = child;
    output_ = std::move(pipe->read);
    set_nonblocking(output_.get());
    loop_.watch(output_.get(), POLLIN, [this](short) { read_output(); });
    if (limit_ms == no_limit) {
        return;
    }
    limit_ = loop_.after(limit_ms, [this] {
        ::kill(-pid_, SIGKILL); // what hangs in the kernel does not die: it is not waited for
        pid_ = 0;
        tell();
    });
}

HelperRun::~HelperRun() {
    loop_.cancel(limit_);
    loop_.cancel(next_);
    loop_.forget(output_.get());
    if (pid_ != 0) {
        ::kill(-pid_, SIGKILL);
        if (::waitpid(pid_, nullptr, WNOHANG) != 0) {
            forget_helper(pid_);
        }
    }
}

void HelperRun::read_output() {
    char buffer[4096];
    const auto count = ::read(output_.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count <= 0) {
        loop_.forget(output_.get());
        return reap();
    }
    if (on_output_) {
        return on_output_({buffer, static_cast<std::size_t>(count)});
    }
    const auto room = longest_output - finished_.output.size();
    finished_.output.append(buffer, std::min(room, static_cast<std::size_t>(count)));
}

void HelperRun::reap() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == 0) {
        next_ = loop_.after(reap_pause_ms, [this] { reap(); });
        return;
    }
    finished_.code = exit_status(status).code;
    forget_helper(pid_);
    pid_ = 0;
    tell();
}

void HelperRun::tell() {
    loop_.cancel(limit_);
    loop_.cancel(next_);
    loop_.forget(output_.get());
    const auto when_done = when_done_; // it may destroy this object
    when_done(std::move(finished_));
}

} // namespace dockdist::node
