#include "node/boot/sshd_service.hpp"

#include "node/system/clean_environment.hpp"
#include "node/system/paths.hpp"
#include "node/system/program.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace dockdist::node {

Status SshdService::start() {
    const auto config = read_file(paths().sshd_config);
    TRY(config);
    wanted_ = true;
    if (pid_ > 0 && *config == running_config_) {
        return ok;
    }
    running_config_ = *config;
    loop_.cancel(timer_);
    if (pid_ > 0) {
        ready_line_.clear();
        replacing_ = true; // on_exit starts the new one when the old one has left the port
        ::kill(pid_, SIGTERM);
        return ok;
    }
    return spawn();
}

Status SshdService::spawn() {
    auto pipe = make_pipe();
    TRY(pipe);
    // sshd starts itself anew for each connection by argv[0], which must be an absolute path.
    const std::vector<std::string> argv{paths().sshd, "-D", "-e", "-f", paths().sshd_config};
    auto environment = clean_environment();
    const pid_t child = ::fork();
    if (child < 0) {
        return system_error("cannot start sshd", errno);
    }
    if (child == 0) {
        reset_signals();
        ::setsid();
        const int null = ::open("/dev/null", O_RDWR);
        ::dup2(null, STDIN_FILENO);
        ::dup2(null, STDOUT_FILENO);
        ::dup2(pipe->write.get(), STDERR_FILENO);
        ::_exit(exec_path(argv.front(), argv, environment));
    }
    pid_ = child;
    started_at_ = monotonic_ms();
    last_words_.listen(std::move(pipe->read));
    return ok;
}

void SshdService::on_exit(pid_t pid, ExitStatus status) {
    if (pid != pid_ || pid == 0) {
        return;
    }
    pid_ = 0;
    if (!wanted_) {
        return;
    }
    if (replacing_) {
        replacing_ = false;
        delay_ms_ = 0; // the port is free for a moment
    } else {
        if (monotonic_ms() - started_at_ > 60000) {
            delay_ms_ = first_delay_ms;
        }
        log_(wire::dump(
                 {{"type", "sshd_ended"}, {"code", status.code}, {"words", printable(last_words_.text())}}) +
             "\n");
    }
    restart_later();
}

void SshdService::restart_later() {
    loop_.cancel(timer_);
    timer_ = loop_.after(delay_ms_, [this] {
        delay_ms_ = std::clamp(delay_ms_ * 2, first_delay_ms, longest_delay_ms);
        if (const auto started = spawn(); !started) {
            return restart_later();
        }
        timer_ = loop_.after(settled_ms, [this] {
            if (pid_ > 0 && !ready_line_.empty()) {
                log_(ready_line_);
            }
        });
    });
}

void SshdService::set_ready_line(std::string line) {
    ready_line_ = std::move(line);
    log_(ready_line_);
}

void SshdService::give_up() {
    wanted_ = false;
    loop_.cancel(timer_);
}

} // namespace dockdist::node
