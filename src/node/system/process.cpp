#include "node/system/process.hpp"

#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cerrno>
#include <grp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int most_reaped = 512; // in one go

std::set<pid_t>& helper_children() {
    static std::set<pid_t> all;
    return all;
}

} // namespace

bool alone_in_container() {
    return std::ranges::all_of(list_folder("/proc"), [](const std::string& name) {
        return name == "1" || name.find_first_not_of("0123456789") != std::string::npos;
    });
}

int own_cpus() {
    cpu_set_t set;
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void may_be_read() {
    (void)::prctl(PR_SET_PTRACER, 1UL, 0, 0, 0);
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
