#include "scale/stub_engines/sandbox.hpp"

#include "scale/stub_engines/file_system.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace dockdist::scale {
namespace {

struct Pipe {
    Fd read{}, write{};
};

Pipe make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
        throw std::system_error(errno, std::generic_category(), "make a pipe");
    }
    return {Fd(ends[0]), Fd(ends[1])};
}

struct Pipes {
    Pipe input{}, output{}, errors{}, failure{};
};

Pipes make_pipes(bool has_input) {
    Pipes pipes{.output = make_pipe(), .errors = make_pipe(), .failure = make_pipe()};
    if (has_input) {
        pipes.input = make_pipe();
    }
    return pipes;
}

// --- in the child: nothing here returns to the program's own work, and what goes wrong is said in one line
// ---

[[noreturn]] void give_up(const Pipes& pipes, const std::string& why) {
    (void)!::write(pipes.failure.write.get(), why.data(), why.size());
    ::_exit(127);
}

struct Account {
    uid_t uid = 0;
    gid_t gid = 0;
};

template <class Number>
bool read_number(std::string_view text, Number& number) {
    return std::from_chars(text.data(), text.data() + text.size(), number).ptr == text.data() + text.size() &&
           !text.empty();
}

// As the container's own /etc/passwd has it.
Account find_account(const std::string& user, const Pipes& pipes) {
    Account account;
    const auto colon = user.find(':');
    const auto name = user.substr(0, colon);
    if (name.empty() || read_number(name, account.uid)) {
        account.gid = account.uid;
    } else {
        bool found = false;
        std::ifstream passwd("/etc/passwd");
        for (std::string line; !found && std::getline(passwd, line);) {
            std::array<std::string, 4> fields{};
            std::size_t begin = 0;
            for (auto& field : fields) {
                const auto end = std::min(line.find(':', begin), line.size());
                field = line.substr(begin, end - begin);
                begin = std::min(end + 1, line.size());
            }
            found = fields[0] == name && read_number(fields[2], account.uid) &&
                    read_number(fields[3], account.gid);
        }
        if (!found) {
            give_up(pipes, "unable to find user " + name + ": no matching entries in passwd file");
        }
    }
    if (colon != std::string::npos && !read_number(std::string_view(user).substr(colon + 1), account.gid)) {
        give_up(pipes,
                "unable to find group " + user.substr(colon + 1) + ": no matching entries in group file");
    }
    return account;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
    std::vector<char*> result;
    for (const auto& word : words) {
        result.push_back(const_cast<char*>(word.c_str()));
    }
    result.push_back(nullptr);
    return result;
}

void take_streams(const Pipes& pipes) {
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(pipes.input.read.open() ? pipes.input.read.get() : null, STDIN_FILENO);
    ::dup2(pipes.output.write.get(), STDOUT_FILENO);
    ::dup2(pipes.errors.write.get(), STDERR_FILENO);
    ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM}) {
        std::signal(number, SIG_DFL);
    }
}

[[noreturn]] void become(const Command& command, const Pipes& pipes) {
    take_streams(pipes);
    ::umask(022);
    const auto folder = command.folder.empty() ? std::string("/") : command.folder;
    if (::chdir(folder.c_str()) != 0 && (make_folders(folder), ::chdir(folder.c_str())) != 0) {
        give_up(pipes,
                "chdir to cwd (\"" + folder + "\") set in config.json failed: " + std::strerror(errno));
    }
    const auto account = find_account(command.user, pipes);
    if (::setgroups(0, nullptr) != 0 || ::setgid(account.gid) != 0 || ::setuid(account.uid) != 0) {
        give_up(pipes, std::string("setup user: ") + std::strerror(errno));
    }
    auto environment = pointers(command.environment);
    environ = environment.data(); // whose PATH is the one that counts
    const auto words = pointers(command.words);
    ::execvp(words.front(), words.data());
    give_up(pipes, "exec: \"" + command.words.front() + "\": " +
                       (errno == ENOENT && command.words.front().find('/') == std::string::npos
                            ? "executable file not found in $PATH"
                            : "stat " + command.words.front() + ": " +
                                  (errno == ENOENT ? "no such file or directory" : std::strerror(errno))));
}

Forked parents_ends(pid_t pid, Pipes pipes) {
    if (pid < 0) {
        throw std::system_error(errno, std::generic_category(), "start a process");
    }
    return {.pid = pid,
            .input = std::move(pipes.input.write),
            .output = std::move(pipes.output.read),
            .errors = std::move(pipes.errors.read),
            .failure = std::move(pipes.failure.read)};
}

Fd own_pid_namespace() {
    static const int fd = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

} // namespace

Forked start_first(const Sandbox& sandbox, const Command& command) {
    auto pipes = make_pipes(command.has_input);
    const auto pid = static_cast<pid_t>(
        ::syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | SIGCHLD, 0, 0, 0, 0));
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL); // the containers of a stub that is gone are
        ::setsid();
        if (::setns(sandbox.network, CLONE_NEWNET) != 0) {
            give_up(pipes, std::string("enter the host's network: ") + std::strerror(errno));
        }
        if (const auto failed = enter_file_system(sandbox); !failed.empty()) {
            give_up(pipes, failed);
        }
        (void)::sethostname(sandbox.hostname.data(), sandbox.hostname.size());
        become(command, pipes);
    }
    return parents_ends(pid, std::move(pipes));
}

// Its process is a child of this program, and of nobody in the container, as it is with engines.
Forked start_beside(pid_t first, const Command& command) {
    auto pipes = make_pipes(command.has_input);
    const auto own = own_pid_namespace();
    const Fd container(static_cast<int>(::syscall(SYS_pidfd_open, first, 0)));
    if (!container.open() || ::setns(container.get(), CLONE_NEWPID) != 0) {
        throw std::system_error(errno, std::generic_category(), "enter a container");
    }
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::setsid();
        if (::setns(container.get(), CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET) != 0) {
            give_up(pipes, std::string("enter the container: ") + std::strerror(errno));
        }
        become(command, pipes);
    }
    const int why = errno;
    if (::setns(own.get(), CLONE_NEWPID) != 0) {
        std::abort(); // whatever is started from here on would be in that container
    }
    errno = why;
    return parents_ends(pid, std::move(pipes));
}

} // namespace dockdist::scale
