#include "node/boot/first_join.hpp"

#include "node/boot/join.hpp"
#include "node/system/environment.hpp"
#include "node/system/paths.hpp"
#include "node/system/program.hpp"

#include <csignal>
#include <unistd.h>

namespace dockdist::node {

FirstJoin::FirstJoin(Loop& loop) : loop_(loop), client_(STDIN_FILENO, STDOUT_FILENO) {
    loop_.watch(STDIN_FILENO, POLLIN, [this](short) { hear(); });
}

void FirstJoin::hear() {
    const auto line = client_.read_some();
    if (line && !*line) {
        return;
    }
    loop_.forget(STDIN_FILENO);
    if (line) { // else nobody is there, or nobody who knows what to say
        start(**line);
    }
}

// A program of its own, as by an exec: it must have nothing open that is PID 1's.
void FirstJoin::start(const std::string& request) {
    const std::vector<std::string> argv{"dockdist-init", "join", first_join, request};
    auto environment = Environment::own();
    pid_ = ::fork();
    if (pid_ == 0) {
        reset_signals();
        ::setsid();
        ::_exit(exec_path(paths().own, argv, environment));
    }
}

void FirstJoin::yield_to(pid_t other) {
    if (pid_ > 0 && other != pid_) {
        ::kill(pid_, SIGKILL);
    }
}

void FirstJoin::on_exit(pid_t pid) {
    if (pid == pid_) {
        pid_ = 0;
    }
}

} // namespace dockdist::node
