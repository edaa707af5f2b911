#include "node/job/srun/step_task.hpp"

#include "node/system/process.hpp"
#include "node/system/program.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/core/text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr int pipe_size = 1 << 20;

// As slurmstepd: it says so, and goes on.
void enter_step_folder(const std::string& folder) {
    if (::chdir(folder.c_str()) != 0) {
        (void)write_all(STDERR_FILENO, "srun: error: couldn't chdir to `" + printable(folder) +
                                           "': " + std::strerror(errno) + ": going to /tmp instead\n");
        if (::chdir("/tmp") != 0) {
            (void)::chdir("/");
        }
    }
}

int code_of_slurm(int code) {
    return code == exit_codes::not_found ? ENOENT : code == exit_codes::cannot_start ? EACCES : code;
}

[[noreturn]] void become_task(const StepStart& start, Environment& environment, int in, int out, int err,
                              pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) {
        ::_exit(exit_codes::by_signal(SIGKILL));
    }
    reset_signals();
    ::dup2(in, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    enter_step_folder(start.folder);
    environment.set("SLURM_TASK_PID", std::to_string(::getpid()));
    ::_exit(code_of_slurm(exec_program(start.argv, environment)));
}

} // namespace

Result<StepTask> start_step_task(const StepStart& start, int rank, Environment environment) {
    auto out = make_pipe();
    auto err = make_pipe();
    auto in = make_pipe();
    const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!out || !err || !in || !null.open()) {
        return system_error("cannot make a pipe", errno);
    }
    (void)::fcntl(out->write.get(), F_SETPIPE_SZ, pipe_size);
    const pid_t own = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) {
        return system_error("cannot start a process", errno);
    }
    const bool has_input = start.input_of == all_tasks || start.input_of == rank;
    if (child == 0) {
        become_task(start, environment, has_input ? in->read.get() : null.get(), out->write.get(),
                    err->write.get(), own);
    }
    ::setpgid(child, child); // whichever comes first
    for (const auto* fd : {&out->read, &err->read, &in->write}) {
        set_nonblocking(fd->get());
    }
    StepTask task{.rank = rank, .pid = child, .out = std::move(out->read), .err = std::move(err->read)};
    if (has_input) {
        task.in = std::move(in->write);
    }
    return task;
}

void signal_step_task(const StepTask& task, int signal) {
    if (task.pid > 0) {
        ::kill(-task.pid, signal);
    }
}

} // namespace dockdist::node
