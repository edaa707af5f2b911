#include "node/job_command.hpp"

#include "core/text.hpp"
#include "node/ending.hpp"
#include "node/follower.hpp"
#include "node/init_channel.hpp"
#include "node/job_frames.hpp"
#include "node/job_store.hpp"
#include "node/paths.hpp"
#include "node/session.hpp"
#include "node/supervisor.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_request = 64U << 20U; // files travel in it

int fail(const Error& error) {
    print_error(error);
    return 1;
}

// One line; `rest` gets what came after it.
Result<std::string> read_request(std::string& rest) {
    std::string text;
    char buffer[65536];
    while (text.size() <= longest_request) {
        const auto count = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            break;
        }
        const auto before = text.size();
        text.append(buffer, static_cast<std::size_t>(count));
        if (const auto end = text.find('\n', before); end != std::string::npos) {
            rest = text.substr(end + 1);
            text.resize(end);
            return text;
        }
    }
    return Error{.kind = ErrorKind::protocol, .message = "the job request was cut short"};
}

Status write_files(const wire::JobRequest& request, const Account& account) {
    for (const auto& [path, content] : request.files) {
        const auto folder = path.substr(0, path.rfind('/'));
        if (!folder.empty() && !is_folder(folder)) {
            if (auto made = make_folders(folder, 0755); !made) {
                return made;
            }
        }
        if (auto written = replace_file(path, content, 0600, {account.uid, account.gid}); !written) {
            return written;
        }
    }
    return ok;
}

Result<PreparedJob> prepare(wire::JobRequest request) {
    PreparedJob job;
    std::string problem;
    job.account = named_account(request.user, problem);
    if (!problem.empty()) {
        return Error{.kind = ErrorKind::config,
                     .message = problem,
                     .hint = "set container.user to a user of the image or to a numeric uid"};
    }
    if (auto written = write_files(request, job.account); !written) {
        return written.error();
    }
    job.environment = job_environment(recorded_environment(), request, job.account);
    job.workdir = request.workdir.empty() ? recorded_workdir() : request.workdir;
    job.summary = {.job = request.job, .running = true, .started_ms = unix_ms(), .argv = request.argv};
    if (auto created = create_job(job.summary); !created) {
        return created.error();
    }
    auto log = OutputLog::create(job_log(request.job));
    auto control = listen_unix(control_socket(request.job), SOCK_STREAM, 0600, {::geteuid(), ::getegid()});
    auto ranks =
        listen_unix(rank_socket(request.job), SOCK_SEQPACKET, 0600, {job.account.uid, job.account.gid});
    if (!log || !control || !ranks) {
        remove_tree(job_folder(request.job));
        return !log ? log.error() : !control ? control.error() : ranks.error();
    }
    job.log = std::move(*log);
    job.control = std::move(*control);
    job.ranks = std::move(*ranks);
    job.request = std::move(request);
    return job;
}

// Twice forked, so that PID 1 becomes its parent, and without the exec's streams, which would keep the exec
// open.
Status start_supervisor(PreparedJob job) {
    const pid_t between = ::fork();
    if (between < 0) {
        return system_error("cannot start the job's supervisor", errno);
    }
    if (between == 0) {
        ::setsid();
        if (const pid_t supervisor = ::fork(); supervisor != 0) {
            ::_exit(supervisor < 0 ? 1 : 0);
        }
        const int null = ::open("/dev/null", O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            ::dup2(null, stream);
        }
        ::close(null);
        (void)::chdir("/");
        ::_exit(supervise(std::move(job)));
    }
    int status = 0;
    while (::waitpid(between, &status, 0) < 0 && errno == EINTR) {
    }
    if (exit_status(status).code != 0) {
        return Error{.kind = ErrorKind::node,
                     .message = "cannot start the job's supervisor: too many processes"};
    }
    return ok;
}

int start() {
    std::string rest;
    const auto line = read_request(rest);
    if (!line) {
        return fail(line.error());
    }
    auto request = wire::parse_job_request(*line);
    if (!request) {
        return fail(request.error());
    }
    const auto id = request->job;
    auto job = prepare(std::move(*request));
    if (!job) {
        return fail(job.error());
    }
    if (const auto started = start_supervisor(std::move(*job)); !started) {
        return fail(started.error());
    }
    return follow_job(id, 0, std::move(rest));
}

struct JobArguments {
    std::string job{};
    std::int64_t position = 0;
    std::int64_t grace_ms = 10000;
};

Result<JobArguments> parse_arguments(const std::string& text) {
    const auto object = wire::parse_object(text, "the argument");
    if (!object) {
        return object.error();
    }
    JobArguments arguments;
    wire::ObjectReader reader(*object, "the argument");
    reader.require("job");
    reader.read("job", arguments.job);
    reader.read("position", arguments.position);
    reader.read("grace_ms", arguments.grace_ms);
    if (!wire::is_job_id(arguments.job) || arguments.position < 0 || arguments.grace_ms < 0) {
        reader.fail("\"job\" must be a job's name, \"position\" and \"grace_ms\" not negative");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return arguments;
}

// Until the supervisor closes the connection, which it does when everything has ended.
void stop_by_supervisor(const Fd& supervisor, std::int64_t grace_ms) {
    const auto line = wire::job_command_line({.type = wire::JobCommand::Type::stop, .grace_ms = grace_ms});
    (void)::send(supervisor.get(), line.data(), line.size(), MSG_NOSIGNAL);
    const auto deadline = monotonic_ms() + grace_ms + 15000;
    char buffer[4096];
    while (monotonic_ms() < deadline) {
        pollfd ready{.fd = supervisor.get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(deadline - monotonic_ms(), 1))) > 0 &&
            ::recv(supervisor.get(), buffer, sizeof buffer, 0) <= 0) {
            return;
        }
    }
}

int stop(const JobArguments& arguments) {
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    const bool known = load_summary(arguments.job).has_value();
    if (const auto supervisor = connect_unix(control_socket(arguments.job), SOCK_STREAM)) {
        stop_by_supervisor(*supervisor, arguments.grace_ms);
    }
    const auto left = end_processes({.mark = arguments.job}, arguments.grace_ms);
    if (known) {
        event.result = result_without_supervisor(arguments.job);
    } else {
        event.result.stopped = true;
        event.result.reason = "stop";
    }
    if (!left.empty()) {
        std::string list;
        for (const auto pid : left) {
            list += (list.empty() ? "" : ", ") + std::to_string(pid);
        }
        return fail(Error{
            .kind = ErrorKind::job,
            .message = "these processes of job " + arguments.job + " do not end: " + list,
            .hint =
                "they wait in the kernel for a device or a file server; `dockdist down` ends the container"});
    }
    print_event(event);
    return 0;
}

int list() {
    for (const auto& id : job_ids()) {
        auto summary = load_summary(id);
        if (summary) {
            if (summary->running && !is_running(id)) {
                summary->running = false;
                summary->result = {.code = 128 + SIGKILL, .signal = SIGKILL, .reason = "lost"};
            }
            (void)write_all(STDOUT_FILENO, wire::dump(nlohmann::json(*summary)) + "\n");
        }
    }
    return 0;
}

} // namespace

Environment job_environment(Environment container, const wire::JobRequest& request, const Account& account) {
    apply_account(container, account);
    for (const auto& name : request.unset) {
        container.unset(name);
    }
    for (const auto& [name, value] : request.env) {
        container.set(name, value);
    }
    if (const auto path = container.get("PATH")) {
        container.set("PATH", with_toolkit_first(*path));
    }
    container.set(wire::job_mark, request.job);
    if (const auto packed = pack_variables(request.env, request.unset)) {
        container.set(job_environment_variable, *packed);
    }
    return container;
}

int run_job(const std::vector<std::string>& arguments) {
    ::umask(022);
    const auto what = arguments.empty() ? std::string() : arguments[0];
    if (what == "start" && arguments.size() == 1) {
        return start();
    }
    if (what == "list" && arguments.size() == 1) {
        return list();
    }
    if ((what == "follow" || what == "stop") && arguments.size() == 2) {
        const auto parsed = parse_arguments(arguments[1]);
        if (!parsed) {
            return fail(parsed.error());
        }
        return what == "stop" ? stop(*parsed)
                              : follow_job(parsed->job, static_cast<std::uint64_t>(parsed->position), {});
    }
    (void)write_all(STDERR_FILENO, "usage: dockdist-init job start | follow JSON | stop JSON | list\n");
    return 2;
}

} // namespace dockdist::node
