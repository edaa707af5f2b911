#include "node/job/srun/step_peer.hpp"

#include "node/system/clean_environment.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "node/system/program.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_complaint = 4096;

// ssh leaves the terminal's session: Ctrl-C there is for srun alone.
[[noreturn]] void become_ssh(const std::string& node, int in, int out, int err) {
    ::setsid();
    reset_signals();
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    auto environment = Environment::own(); // with the job's mark, which it sends along
    remove_loader_variables(environment);
    ::_exit(exec_path(
        paths().ssh, {"ssh", "-F", paths().ssh_config, "-T", "-x", node, std::string(layout::init) + " step"},
        environment));
}

} // namespace

StepPeer::StepPeer(Loop& loop, const std::string& node, Listener listener)
    : loop_(loop), listener_(std::move(listener)) {
    if (!start(node)) {
        loop_.after(0, [this, why = system_error("cannot start ssh", errno).message] { close(why); });
    }
}

StepPeer::~StepPeer() {
    for (const auto* fd : {&to_ssh_, &from_ssh_, &complaints_}) {
        if (fd->open()) {
            loop_.forget(fd->get());
        }
    }
    if (ssh_ > 0) {
        ::kill(ssh_, SIGTERM);
        (void)::waitpid(ssh_, nullptr, 0);
    }
}

bool StepPeer::start(const std::string& node) {
    int in[2] = {-1, -1}; // a socket: a write to it raises no SIGPIPE
    auto out = make_pipe();
    auto err = make_pipe();
    if (!out || !err || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0) {
        return false;
    }
    to_ssh_ = Fd(in[0]);
    const Fd ssh_in(in[1]);
    ssh_ = ::fork();
    if (ssh_ == 0) {
        become_ssh(node, ssh_in.get(), out->write.get(), err->write.get());
    }
    from_ssh_ = std::move(out->read);
    complaints_ = std::move(err->read);
    for (const auto* fd : {&to_ssh_, &from_ssh_, &complaints_}) {
        set_nonblocking(fd->get());
    }
    loop_.watch(from_ssh_.get(), POLLIN, [this](short) { read(); });
    loop_.watch(complaints_.get(), POLLIN, [this](short) { read_complaint(); });
    return ssh_ > 0;
}

void StepPeer::send(std::string_view bytes) {
    waiting_ += bytes;
    write();
}

void StepPeer::write() {
    while (!waiting_.empty() && to_ssh_.open()) {
        const auto count = ::send(to_ssh_.get(), waiting_.data(), waiting_.size(), MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            break; // it is full, or ssh is gone, which its stdout tells
        }
        waiting_.erase(0, static_cast<std::size_t>(count));
    }
    if (to_ssh_.open()) {
        loop_.forget(to_ssh_.get());
        if (!waiting_.empty()) {
            loop_.watch(to_ssh_.get(), POLLOUT, [this](short happened) {
                if ((happened & (POLLERR | POLLHUP)) != 0) {
                    return loop_.forget(to_ssh_.get());
                }
                write();
                if (on_sent) {
                    on_sent();
                }
            });
        }
    }
}

void StepPeer::read() {
    char buffer[65536];
    const auto count = ::read(from_ssh_.get(), buffer, sizeof buffer);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    }
    if (count <= 0) {
        read_complaint();
        const auto complaint = last_line(complaint_);
        return close(complaint.empty() ? "the connection has ended" : complaint);
    }
    decoder_.feed(std::string_view(buffer, static_cast<std::size_t>(count)));
    for (auto frame = decoder_.next(); !closed_ && (!frame || *frame); frame = decoder_.next()) {
        if (!frame) {
            return close(frame.error().message);
        }
        if ((*frame)->kind == wire::Frame::Kind::output) {
            listener_.on_output(**frame);
        } else if (const auto message = parse_step_message((*frame)->payload)) {
            listener_.on_message(*message);
        } else {
            return close(message.error().message);
        }
    }
}

void StepPeer::read_complaint() {
    char buffer[4096];
    for (ssize_t count = 1; complaints_.open() && count > 0;) {
        count = ::read(complaints_.get(), buffer, sizeof buffer);
        if (count > 0) {
            complaint_.append(buffer, static_cast<std::size_t>(count));
            complaint_.erase(0, complaint_.size() - std::min(complaint_.size(), longest_complaint));
        } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
            loop_.forget(complaints_.get());
            complaints_.reset();
        }
    }
}

void StepPeer::close(std::string why) {
    if (std::exchange(closed_, true)) {
        return;
    }
    for (auto* fd : {&to_ssh_, &from_ssh_, &complaints_}) {
        if (fd->open()) {
            loop_.forget(fd->get());
            fd->reset();
        }
    }
    waiting_.clear();
    listener_.on_closed(printable(why));
}

} // namespace dockdist::node
