#include "node/job/follower.hpp"

#include "node/job/job_frames.hpp"
#include "node/job/job_store.hpp"
#include "node/job/log/log_selection.hpp"
#include "node/job/supervisor.hpp"
#include "node/system/os.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/job_query.hpp"
#include "shared/wire/json_reader.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int stuck_after_ms = 60000; // when the client's stdin has ended, and its stdout takes nothing

class Follower {
public:
    Follower(wire::JobQuery query, std::string already_read)
        : query_(std::move(query)), from_client_(std::move(already_read)) {}
    int run();

private:
    bool fill();
    bool read_log();
    void take_client_lines();
    void take_events();
    void supervisor_is_gone();
    bool write_out();
    void read_client();
    void read_supervisor();
    void to_supervisor(const std::string& line);

    wire::JobQuery query_;
    std::optional<LogSelection> log_{}; // none where the query is for no output
    std::string from_client_;
    std::string from_supervisor_{};
    std::string urgent_{}; // frames that go before more output
    std::string out_{};
    std::size_t out_begin_ = 0;
    std::optional<std::string> exited_{};
    Fd supervisor_{};
    bool client_open_ = true;
    bool detached_ = false;
    bool done_ = false;
    bool broken_ = false;
};

int Follower::run() {
    ::signal(SIGPIPE, SIG_IGN);
    if (!is_folder(job_folder(query_.job))) {
        print_error(no_such_job(query_.job));
        return 1;
    }
    if (auto connected = connect_unix(control_socket(query_.job), SOCK_STREAM); !connected) {
        supervisor_is_gone();
    } else if (query_.to_the_end) {
        supervisor_ = std::move(*connected);
    }
    // After the supervisor was looked for: where it is gone, all that it wrote is there.
    if (query_.output) {
        log_.emplace(job_folder(query_.job), query_, unix_ms());
        if (query_.tail || query_.since_ms) {
            urgent_ += wire::encode({.kind = wire::Frame::Kind::pong, .position = log_->position()});
        }
    }
    set_nonblocking(STDOUT_FILENO);
    take_client_lines();
    while (!broken_) {
        while (out_begin_ == out_.size() && fill()) {
            if (!write_out()) {
                break;
            }
        }
        const bool pending = out_begin_ < out_.size();
        if (!pending && done_) {
            return 0;
        }
        std::array<pollfd, 3> ready{
            pollfd{.fd = client_open_ ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0},
            pollfd{.fd = supervisor_.open() ? supervisor_.get() : -1, .events = POLLIN, .revents = 0},
            pollfd{.fd = STDOUT_FILENO, .events = static_cast<short>(pending ? POLLOUT : 0), .revents = 0}};
        const int count = ::poll(ready.data(), ready.size(), !client_open_ && pending ? stuck_after_ms : -1);
        if (count == 0 || (ready[2].revents & (POLLERR | POLLNVAL)) != 0) {
            break;
        }
        if (ready[0].revents != 0) {
            read_client();
        }
        if (ready[1].revents != 0) {
            read_supervisor();
        }
        if (pending && (ready[2].revents & POLLOUT) != 0) {
            (void)write_out();
        }
        if (detached_ && !client_open_) {
            return 0;
        }
    }
    return 1;
}

// Puts the next bytes into out_; false when there is nothing to say now.
bool Follower::fill() {
    out_.clear();
    out_begin_ = 0;
    if (!urgent_.empty()) {
        out_.swap(urgent_);
        return true;
    }
    if (done_ || broken_) {
        return false;
    }
    if (read_log()) {
        return true;
    }
    if (exited_) {
        out_ = wire::encode({.kind = wire::Frame::Kind::control, .payload = *exited_});
        done_ = true;
        return true;
    }
    done_ = !query_.to_the_end;
    return false;
}

bool Follower::read_log() {
    if (!log_) {
        return false;
    }
    if (const auto read = log_->read(out_); !read) {
        out_ = error_frame(read.error());
        done_ = true;
    }
    return !out_.empty();
}

bool Follower::write_out() {
    while (out_begin_ < out_.size()) {
        const auto count = ::write(STDOUT_FILENO, out_.data() + out_begin_, out_.size() - out_begin_);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            broken_ = errno != EAGAIN;
            return false;
        }
        out_begin_ += static_cast<std::size_t>(count);
    }
    return true;
}

void Follower::read_client() {
    char buffer[4096];
    const auto count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count > 0) {
        from_client_.append(buffer, static_cast<std::size_t>(count));
        return take_client_lines();
    }
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        client_open_ = false;
    }
}

void Follower::take_client_lines() {
    for (auto end = from_client_.find('\n'); end != std::string::npos; end = from_client_.find('\n')) {
        const auto line = from_client_.substr(0, end);
        from_client_.erase(0, end + 1);
        const auto command = wire::parse_job_command(line);
        if (!command) {
            urgent_ += error_frame(command.error());
            continue;
        }
        if (command->type == wire::JobCommand::Type::ping) {
            urgent_ += wire::encode({.kind = wire::Frame::Kind::pong});
        }
        detached_ = detached_ || command->type == wire::JobCommand::Type::detach;
        to_supervisor(line + "\n");
    }
    if (from_client_.size() > wire::max_line) {
        from_client_.clear();
    }
}

void Follower::to_supervisor(const std::string& line) {
    if (supervisor_.open()) {
        (void)::send(supervisor_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

void Follower::read_supervisor() {
    char buffer[16384];
    const auto count = ::recv(supervisor_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (count > 0) {
        from_supervisor_.append(buffer, static_cast<std::size_t>(count));
        take_events();
    } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
        supervisor_.reset();
        if (!exited_) {
            supervisor_is_gone();
        }
    }
}

void Follower::take_events() {
    for (auto end = from_supervisor_.find('\n'); end != std::string::npos;
         end = from_supervisor_.find('\n')) {
        auto line = from_supervisor_.substr(0, end);
        from_supervisor_.erase(0, end + 1);
        if (line.empty()) {
            continue;
        }
        const auto event = wire::parse_job_event(line);
        if (event && event->type == wire::JobEvent::Type::exited) {
            exited_ = std::move(line); // after the rest of the log
        } else {
            urgent_ += wire::encode({.kind = wire::Frame::Kind::control, .payload = std::move(line)});
        }
    }
}

void Follower::supervisor_is_gone() {
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    event.result = result_without_supervisor(query_.job);
    exited_ = wire::job_event(event);
}

} // namespace

int follow_job(const wire::JobQuery& query, std::string already_read) {
    return Follower(query, std::move(already_read)).run();
}

} // namespace dockdist::node
