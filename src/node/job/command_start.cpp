#include "node/job/command_start.hpp"

#include "node/gpus/gpu_look.hpp"
#include "node/job/failure_cause.hpp"
#include "node/job/rank/rank_environment.hpp"
#include "node/job/ready_watch.hpp"
#include "node/session/batch_script.hpp"
#include "node/session/session.hpp"
#include "node/system/process.hpp"
#include "shared/core/exit_codes.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

// In the child: what went wrong, as "CODE message" to the parent.
[[noreturn]] void report(int fd, const ProgramError& error) {
    (void)write_all(fd, std::to_string(error.code) + " " + error.message);
    ::_exit(exit_codes::cannot_start);
}

[[noreturn]] void run_child(PreparedJob& job, int out, int err, int problems) {
    reset_signals();
    ::setsid();
    ::umask(022);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(err, STDERR_FILENO);
    raise_memlock_limit();
    if (job.open_files > 0) {
        set_open_files(job.open_files);
    }
    if (const auto became = become(job.account); !became) {
        report(problems, {.code = exit_codes::cannot_start, .message = became.error().message});
    }
    may_be_read();
    if (const auto entered = enter_folder(job.part.workdir); !entered) {
        report(problems, {.code = exit_codes::cannot_start,
                          .message = entered.error().message + "\n  " + entered.error().hint});
    }
    job.start.argv = as_batch(std::move(job.start.argv));
    // Looked up here: a relative name counts from the job's folder, and may be executable for the user alone.
    const auto program = find_own_program(job.start.argv.front(), job.environment);
    if (program.path.empty()) {
        report(problems, program.error);
    }
    job.start.argv.front() = program.name;
    report(problems, become_program(program, job.start.argv, job.environment).error);
}

// Without one, the variables that need it are left out.
std::map<std::string, std::string> with_own_port(const std::map<std::string, std::string>& defaults,
                                                 int port) {
    std::map<std::string, std::string> all;
    for (auto [name, value] : defaults) {
        const auto place = value.find(wire::own_port);
        if (place != std::string::npos) {
            value.replace(place, wire::own_port.size(), std::to_string(port));
        }
        if (place == std::string::npos || port != 0) {
            all[name] = value;
        }
    }
    return all;
}

} // namespace

StartedCommand start_command_of(PreparedJob& job) {
    StartedCommand started;
    if (const auto service = asked_service(job.start)) {
        // Else somebody else's service would answer for the job's.
        if (auto taken = holder_of(service->port); !taken.by.empty()) {
            started.cause = taken_port(taken, job.summary.job);
            started.error = {.code = exit_codes::cannot_start,
                             .message =
                                 started.cause.cause + ": " + service->text() + " is to answer for this job"};
            return started;
        }
    }
    const auto& words = job.start.rank_command.empty() ? job.start.argv : job.start.rank_command;
    if (auto hopeless = find_hopeless(words, job.part.workdir, job.environment)) {
        started.error = {.code = hopeless->code, .message = hopeless->cause.cause};
        started.cause = std::move(hopeless->cause);
        return started;
    }
    auto out = make_pipe();
    auto err = make_pipe();
    auto problems = make_pipe();
    if (!out || !err || !problems) {
        started.error = {.code = exit_codes::cannot_start,
                         .message = system_error("cannot make a pipe", errno).message};
        return started;
    }
    constexpr int roomy = 1 << 20;
    (void)::fcntl(out->write.get(), F_SETPIPE_SZ, roomy);
    const pid_t child = ::fork();
    if (child < 0) {
        started.error = {.code = exit_codes::cannot_start,
                         .message = system_error("cannot start a process", errno).message};
        return started;
    }
    if (child == 0) {
        run_child(job, out->write.get(), err->write.get(), problems->write.get());
    }
    for (const auto* fd : {&out->read, &err->read, &problems->read}) {
        set_nonblocking(fd->get());
    }
    started.pid = child;
    started.out = std::move(out->read);
    started.err = std::move(err->read);
    started.problems = std::move(problems->read);
    return started;
}

ProgramError start_error(const std::string& problem) {
    return {.code = problem.starts_with(std::to_string(exit_codes::not_found)) ? exit_codes::not_found
                                                                               : exit_codes::cannot_start,
            .message = problem.substr(problem.find(' ') + 1)};
}

void PreparedJob::take_start(wire::JobStart from_now_on) {
    start = std::move(from_now_on);
    part.env = opening_env;
    part.env.insert(start.env.begin(), start.env.end()); // the opening's stay
    part.rank_secrets = start.rank_secrets;
    part.rank_command = start.rank_command;
    part.local_rank_at = start.local_rank_at;
    part.local_rank_option = start.local_rank_option;
    part.rank_env = start.rank_env;
    part.env_defaults = with_own_port(start.env_defaults, own_port);
    for (auto& env : part.rank_env) {
        std::erase_if(env, [&](const auto& entry) { return opening_env.contains(entry.first); });
    }
    summary.policy = start.policy;
    const auto& words = start.rank_command.empty() ? start.argv : start.rank_command;
    if (summary.argv.empty() || !words.empty()) {
        summary.argv = words;
    }
}

// A rank's share of the processors: that of one of the node's units, so that jobs beside it have theirs.
int PreparedJob::threads_of_a_rank() const {
    const auto place = static_cast<std::size_t>(start.part);
    const int here = place < start.policy.parts.size() ? start.policy.parts[place].ranks : 0;
    if (here == 0 || start.leaves_servers || environment.get("OMP_NUM_THREADS") ||
        part.secrets.contains("OMP_NUM_THREADS") ||
        std::ranges::find(part.unset, "OMP_NUM_THREADS") != part.unset.end()) {
        return 0;
    }
    const auto known = load_known_gpus();
    const int units = known ? std::max(known->slots, static_cast<int>(known->units.size())) : 0;
    return std::max(own_cpus() / std::max(here, units), 1);
}

Status PreparedJob::enter_attempt(int attempt) {
    summary.ready.clear();
    summary.result = {.attempt = attempt,
                      .left_out = wire::lost_nodes(start.policy),
                      .usage = std::move(summary.result.usage)};
    part.env["DOCKDIST_RESTART_COUNT"] = std::to_string(attempt);
    part.env["TORCHELASTIC_RESTART_COUNT"] = std::to_string(attempt);
    environment = job_environment(recorded_environment(), part, account);
    part.threads = threads_of_a_rank();
    set_threads(environment, part);
    show_crashes(environment);
    if (part.rank_command.empty()) { // else they are the ranks': a launcher takes its own to other nodes
        set_defaults(environment, part);
    }
    return make_scratch(part, start.files, account);
}

void conclude_without_command(wire::JobResult& result, bool had_one) {
    if (had_one) {
        result.code = exit_codes::by_signal(SIGKILL);
        result.signal = SIGKILL;
    } else if (!result.failures.empty()) {
        result.code = result.failures.front().code;
        result.signal = result.failures.front().signal;
    }
}

} // namespace dockdist::node
