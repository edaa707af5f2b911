#include "scale/stub_engines/processes.hpp"

#include <cerrno>
#include <csignal>
#include <spawn.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace dockdist::scale {

Processes::Processes(boost::asio::io_context& io) : io_(io), signals_(io, SIGCHLD) {
    reap();
}

void Processes::reap() {
    signals_.async_wait([this](boost::system::error_code error, int) {
        if (error) {
            return;
        }
        reap(); // before the look: an end that comes meanwhile is seen by one of the two
        int status = 0;
        for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
            if (const auto found = running_.find(pid); found != running_.end()) {
                const auto process = found->second;
                running_.erase(found);
                process->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
                process->ended.set();
            }
        }
    });
}

std::shared_ptr<Process> Processes::watch(pid_t pid) {
    return running_[pid] = std::make_shared<Process>(io_.get_executor(), pid);
}

std::shared_ptr<Process> Processes::start(const std::vector<std::string>& words) {
    std::vector<char*> arguments;
    for (const auto& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    pid_t pid = 0;
    if (const int why = ::posix_spawnp(&pid, arguments.front(), nullptr, nullptr, arguments.data(), environ);
        why != 0) {
        throw std::system_error(why, std::generic_category(), "start " + words.front());
    }
    return watch(pid);
}

} // namespace dockdist::scale
