#include "node/system/process.hpp"

#include "core/exit_codes.hpp"
#include "core/text.hpp"
#include "wire/layout.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int most_reaped = 512; // in one go

std::set<pid_t>& helper_children() {
    static std::set<pid_t> all;
    return all;
}

Program look_up(const std::string& name, const std::string& path) {
    bool there = false;
    for (const auto& folder : split(path, ':')) {
        const auto candidate = (folder.empty() ? "." : folder) + "/" + name;
        if (is_executable(candidate)) {
            return {.path = candidate, .name = name};
        }
        there = there || (::access(candidate.c_str(), F_OK) == 0 && !is_folder(candidate));
    }
    if (there) {
        return {.path = {},
                .name = {},
                .error = {.code = exit_codes::cannot_start,
                          .message = printable(name) + ": found, but not executable"}};
    }
    return {.path = {},
            .name = {},
            .error = {.code = exit_codes::not_found,
                      .message = printable(name) + ": not found in PATH (" + printable(path) + ")"}};
}

} // namespace

std::vector<char*> argv_pointers(std::vector<std::string>& words) {
    std::vector<char*> result;
    for (auto& word : words) {
        result.push_back(word.data());
    }
    result.push_back(nullptr);
    return result;
}

bool alone_in_container() {
    return std::ranges::all_of(list_folder("/proc"), [](const std::string& name) {
        return name == "1" || name.find_first_not_of("0123456789") != std::string::npos;
    });
}

Program find_program(const std::string& name, const Environment& environment) {
    if (name.find('/') != std::string::npos) {
        if (is_executable(name)) {
            return {.path = name, .name = name};
        }
        if (::access(name.c_str(), F_OK) != 0) {
            return {.path = {},
                    .name = {},
                    .error = {.code = exit_codes::not_found,
                              .message = printable(name) + ": no such file in this container"}};
        }
        return {
            .path = {},
            .name = {},
            .error = {.code = exit_codes::cannot_start,
                      .message = printable(name) + (is_folder(name) ? ": is a folder" : ": not executable")}};
    }
    const auto path = environment.get("PATH").value_or(default_path);
    auto found = look_up(name, path);
    if (found.path.empty() && name == "python") {
        auto python3 = look_up("python3", path);
        if (!python3.path.empty()) {
            return python3;
        }
    }
    return found;
}

ProgramError exec_failure(const std::string& name, const std::string& path, int number) {
    ProgramError error{.code = exit_codes::cannot_start,
                       .message = printable(name) + ": " + std::strerror(number)};
    if (number == ENOENT) {
        // execve says the same of a missing interpreter as of a missing file.
        const bool there = ::access(path.c_str(), F_OK) == 0;
        error.code = exit_codes::not_found;
        error.message = printable(name) + (there ? ": the interpreter it names is not in this container"
                                                 : ": no such file in this container");
    } else if (number == ENOEXEC) {
        error.message =
            printable(name) + ": not a program of this machine's architecture, and has no #! line";
    } else if (number == E2BIG) {
        error.message = printable(name) + ": its arguments and environment are larger than the kernel takes";
    }
    return error;
}

int own_cpus() {
    cpu_set_t set;
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void reset_signals() {
    for (int signal = 1; signal < NSIG; ++signal) {
        ::signal(signal, SIG_DFL);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void raise_memlock_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_MEMLOCK, &limit);
    }
}

std::uint64_t open_files() {
    rlimit limit{};
    return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

void set_open_files(std::uint64_t most) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

Status become(const Account& account) {
    if (::geteuid() != 0) {
        if (::geteuid() == account.uid) {
            return ok;
        }
        return Error{.kind = ErrorKind::node,
                     .message = "only root can become user " + account.name,
                     .hint = "dockdist-init was not started as root"};
    }
    const auto groups = account.groups.empty() ? std::vector<gid_t>{account.gid} : account.groups;
    // Root stays root: nothing to change, and a container without CAP_SETGID can still run its jobs.
    if (account.uid == 0 && account.gid == ::getegid() && groups.size() == 1) {
        return ok;
    }
    if (::setgroups(groups.size(), groups.data()) != 0 || ::setgid(account.gid) != 0 ||
        ::setuid(account.uid) != 0) {
        return system_error("cannot become user " + account.name, errno);
    }
    return ok;
}

Status enter_folder(const std::string& path) {
    if (::chdir(path.c_str()) != 0) {
        auto error = system_error("cannot enter the folder " + printable(path), errno);
        error.hint = "set container.workdir, or mount or sync that folder into the container";
        return error;
    }
    return ok;
}

int exec_path(const std::string& path, const std::vector<std::string>& argv, Environment& environment) {
    auto words = argv;
    ::execve(path.c_str(), argv_pointers(words).data(), environment.pointers().data());
    const auto error = exec_failure(argv.front(), path, errno);
    const auto line = "dockdist: " + error.message + "\n";
    (void)write_all(STDERR_FILENO, line);
    return error.code;
}

int exec_program(const std::vector<std::string>& argv, Environment& environment) {
    const auto program = find_program(argv.front(), environment);
    if (program.path.empty()) {
        (void)write_all(STDERR_FILENO, "dockdist: " + program.error.message + "\n");
        return program.error.code;
    }
    auto words = argv;
    words.front() = program.name;
    return exec_path(program.path, words, environment);
}

Finished run_helper(const std::string& path, const std::vector<std::string>& argv, Environment environment,
                    int limit_ms) {
    Finished finished;
    auto pipe = make_pipe();
    if (!pipe) {
        finished.output = pipe.error().message;
        return finished;
    }
    auto words = argv;
    const auto argument_pointers = argv_pointers(words);
    const auto environment_pointers = environment.pointers();
    const pid_t child = ::fork();
    if (child == 0) {
        reset_signals();
        const int null = ::open("/dev/null", O_RDWR);
        ::dup2(null, STDIN_FILENO);
        ::dup2(pipe->write.get(), STDOUT_FILENO);
        ::dup2(pipe->write.get(), STDERR_FILENO);
        ::execve(path.c_str(), argument_pointers.data(), environment_pointers.data());
        ::_exit(exit_codes::not_found);
    }
    pipe->write.reset();
    const auto deadline = monotonic_ms() + limit_ms;
    bool open = child > 0;
    while (open && finished.output.size() < (1U << 20U)) {
        pollfd ready{.fd = pipe->read.get(), .events = POLLIN, .revents = 0};
        const auto left = deadline - monotonic_ms();
        if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) {
            break;
        }
        char buffer[4096];
        const auto count = ::read(pipe->read.get(), buffer, sizeof buffer);
        open = count > 0 || (count < 0 && errno == EINTR);
        if (count > 0) {
            finished.output.append(buffer, static_cast<std::size_t>(count));
        }
    }
    if (child > 0) {
        if (open) {
            ::kill(child, SIGKILL);
        }
        int status = 0;
        while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        finished.code = open ? -1 : exit_status(status).code;
    }
    return finished;
}

void remove_loader_variables(Environment& environment) {
    for (const auto* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_DEBUG", "GCONV_PATH",
                             "GLIBC_TUNABLES", "LOCPATH", "MALLOC_CHECK_", "NSS_WRAPPER_PASSWD"}) {
        environment.unset(name);
    }
    environment.set("OPENSSL_CONF", "/dev/null");
}

Environment clean_environment() {
    Environment environment;
    environment.set("PATH", std::string(layout::toolkit_bin) + ":" + default_path);
    environment.set("OPENSSL_CONF", "/dev/null");
    return environment;
}

ExitStatus exit_status(int wait_status) {
    if (WIFSIGNALED(wait_status)) {
        return {.code = exit_codes::by_signal(WTERMSIG(wait_status)), .signal = WTERMSIG(wait_status)};
    }
    return {.code = WEXITSTATUS(wait_status)};
}

bool reap_children(const std::function<void(pid_t pid, int wait_status)>& on_exit) {
    for (int i = 0; i < most_reaped; ++i) {
        int status = 0;
        const pid_t pid = ::waitpid(-1, &status, WNOHANG);
        if (pid <= 0) {
            return false;
        }
        forget_helper(pid);
        on_exit(pid, status);
    }
    return true;
}

void spare_helper(pid_t child) {
    helper_children().insert(child);
}

void forget_helper(pid_t child) {
    helper_children().erase(child);
}

const std::set<pid_t>& spared_helpers() {
    return helper_children();
}

Result<Fd> take_signals(std::span<const int> signals) {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : signals) {
        ::sigaddset(&set, signal);
    }
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd.open()) {
        return system_error("cannot watch signals", errno);
    }
    return fd;
}

} // namespace dockdist::node
