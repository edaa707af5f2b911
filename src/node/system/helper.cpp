#include "node/system/helper.hpp"

#include "node/system/gpus.hpp"
#include "node/system/on_record.hpp"
#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "node/system/process.hpp"
#include "shared/wire/layout.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

// What nvidia-smi opens, on servers, Tegra and WSL 2; the driver lets everybody, unless its options say
// otherwise.
bool may_use_gpus() {
    return std::ranges::all_of(list_folder("/dev"), [](const std::string& name) {
        const bool gpus = name == "nvidiactl" || count_gpu_devices({name}) == 1 ||
                          name.starts_with("nvhost") || name == "nvmap" || name == "dxg";
        const auto path = "/dev/" + name;
        struct stat status{};
        return !gpus || ::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode) ||
               ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
    });
}

// Root stays root where it may be nobody else: in the container that looks at a host's GPUs it has no
// capability, and nobody else runs there.
void leave_root(const std::string& program) {
    const uid_t id = layout::id_apart - (recorded_account().uid == layout::id_apart ? 1 : 0);
    if (::setgroups(0, nullptr) != 0 || ::setegid(id) != 0 || ::seteuid(id) != 0) {
        (void)::setegid(0);
        return;
    }
    const bool does = ::faccessat(AT_FDCWD, program.c_str(), X_OK, AT_EACCESS) == 0 && may_use_gpus();
    if (::seteuid(0) != 0 || ::setegid(0) != 0 ||
        (does && (::setresgid(id, id, id) != 0 || ::setresuid(id, id, id) != 0))) {
        ::_exit(exit_codes::cannot_start);
    }
}

} // namespace

Helper toolkit_helper(const std::string& path, std::vector<std::string> argv,
                      std::optional<Account> account) {
    Helper helper{.program = {.path = path, .name = path},
                  .argv = std::move(argv),
                  .environment = clean_environment(),
                  .account = std::move(account)};
    if (helper.account) {
        helper.environment.set("HOME", helper.account->home);
    }
    return helper;
}

Result<Helper> believed_helper(std::vector<std::string> argv) {
    Helper helper{.argv = std::move(argv), .environment = Environment::own(), .apart = ::geteuid() == 0};
    helper.program = helper.apart ? find_roots_program(helper.argv.front(), helper.environment)
                                  : find_program(helper.argv.front(), helper.environment);
    if (helper.apart) {
        helper.environment = believed_environment(helper.environment);
    }
    if (helper.program.path.empty()) {
        return Error{.kind = ErrorKind::not_found, .message = helper.program.error.message};
    }
    helper.program.believed = true;
    return helper;
}

void take_place_of(const Helper& helper) {
    if (helper.account && !become(*helper.account)) {
        ::_exit(exit_codes::cannot_start);
    }
    if (helper.apart) {
        leave_root(helper.program.path);
        (void)::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        (void)!::chdir("/");
    }
}

void become_helper(Helper& helper) {
    ::_exit(become_program(helper.program, std::move(helper.argv), helper.environment).error.code);
}
Finished run_helper(Helper helper, int limit_ms) {
    Finished finished;
    auto pipe = make_pipe();
    if (!pipe) {
        finished.output = pipe.error().message;
        return finished;
    }
    const pid_t child = ::fork();
    if (child == 0) {
        reset_signals();
        const int null = ::open("/dev/null", O_RDWR);
        ::dup2(null, STDIN_FILENO);
        ::dup2(pipe->write.get(), STDOUT_FILENO);
        ::dup2(pipe->write.get(), STDERR_FILENO);
        take_place_of(helper);
        become_helper(helper);
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

} // namespace dockdist::node
