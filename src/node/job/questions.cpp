#include "node/job/questions.hpp"

#include "node/system/process.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_answer = 4096;

[[noreturn]] void run_child(const wire::Question& question, Asking& asking, int output, pid_t parent) {
    reset_signals();
    ::setsid();
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    if (const auto became = become(asking.account); !became) {
        (void)write_all(STDERR_FILENO, "dockdist: " + became.error().message + "\n");
        ::_exit(exit_codes::cannot_start);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // a change of user would have taken it back
    if (::getppid() != parent || (::chdir(asking.workdir.c_str()) != 0 && ::chdir("/") != 0)) {
        ::_exit(exit_codes::cannot_start);
    }
    ::_exit(exec_program(question.argv, asking.environment));
}

} // namespace

Questions::Questions(Loop& loop, const std::vector<wire::Question>& questions, Asking asking,
                     std::function<void(Answers)> when_done)
    : loop_(loop), asking_(std::move(asking)), when_done_(std::move(when_done)) {
    constexpr std::array signals{SIGCHLD};
    if (auto taken = take_signals(signals)) {
        signals_ = std::move(*taken);
        loop_.watch(signals_.get(), POLLIN, [this](short) {
            signalfd_siginfo info{};
            while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            }
            reap();
        });
    }
    for (const auto& question : questions) {
        begin(*asked_.emplace_back(std::make_unique<Asked>()), question);
    }
    first_look_ = loop_.after(0, [this] { tell_when_all_have_ended(); });
}

Questions::~Questions() {
    for (const auto& asked : asked_) {
        loop_.cancel(asked->limit);
        loop_.forget(asked->output.get());
        if (asked->pid != 0) {
            ::kill(-asked->pid, SIGKILL);
            ::kill(asked->pid, SIGKILL); // before it is the leader of a group of its own
            while (::waitpid(asked->pid, nullptr, 0) < 0 && errno == EINTR) {
            }
        }
    }
    loop_.cancel(first_look_);
    loop_.forget(signals_.get());
}

void Questions::begin(Asked& asked, const wire::Question& question) {
    asked.answer.name = question.name;
    auto pipe = make_pipe();
    const pid_t own = ::getpid();
    const pid_t child = pipe ? ::fork() : -1;
    if (child < 0) {
        asked.answer.code = exit_codes::cannot_start;
        asked.answer.output = system_error("cannot start a process", errno).message;
        return;
    }
    if (child == 0) {
        run_child(question, asking_, pipe->write.get(), own);
    }
    asked.pid = child;
    asked.output = std::move(pipe->read);
    set_nonblocking(asked.output.get());
    loop_.watch(asked.output.get(), POLLIN, [this, &asked](short) {
        if (!read_output(asked)) {
            loop_.forget(asked.output.get());
        }
    });
    asked.limit = loop_.after(asking_.limit_ms, [&asked] {
        asked.answer.code = -1;
        ::kill(-asked.pid, SIGKILL);
    });
}

// False when there is no more to come. What is too much is read and dropped: a full pipe would hold the
// program up.
bool Questions::read_output(Asked& asked) {
    char buffer[4096];
    const auto count = ::read(asked.output.get(), buffer, sizeof buffer);
    if (count <= 0) {
        return count < 0 && errno == EAGAIN;
    }
    const auto room = longest_answer - asked.answer.output.size();
    asked.answer.output.append(buffer, std::min(room, static_cast<std::size_t>(count)));
    return true;
}

void Questions::reap() {
    for (const auto& asked : asked_) {
        int status = 0;
        if (asked->pid != 0 && ::waitpid(asked->pid, &status, WNOHANG) == asked->pid) {
            ended(*asked, status);
        }
    }
    tell_when_all_have_ended();
}

void Questions::ended(Asked& asked, int status) {
    ::kill(-asked.pid, SIGKILL); // what it left behind
    asked.pid = 0;
    loop_.cancel(asked.limit);
    // Somebody may still hold the other end, so what counts is what is there now.
    pollfd ready{.fd = asked.output.get(), .events = POLLIN, .revents = 0};
    while (asked.answer.output.size() < longest_answer && ::poll(&ready, 1, 0) == 1 &&
           (ready.revents & POLLIN) != 0 && read_output(asked)) {
    }
    loop_.forget(asked.output.get());
    asked.output.reset();
    if (asked.answer.code == 0) {
        asked.answer.code = exit_status(status).code;
    }
}

void Questions::tell_when_all_have_ended() {
    const bool waiting = std::ranges::any_of(asked_, [](const auto& asked) { return asked->pid != 0; });
    if (waiting || told_) {
        return;
    }
    told_ = true;
    Answers answers;
    for (auto& asked : asked_) {
        answers.push_back(std::move(asked->answer));
    }
    const auto when_done = when_done_; // it may destroy this object
    when_done(std::move(answers));
}

} // namespace dockdist::node
