#include "node/job/job_command.hpp"

#include "core/number.hpp"
#include "node/job/detached/coordinator_link.hpp"
#include "node/job/follower.hpp"
#include "node/job/job_frames.hpp"
#include "node/job/job_start.hpp"
#include "node/job/job_store.hpp"
#include "node/session/job_part.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/unix_socket.hpp"
#include "usage/recorder.hpp"
#include "wire/job.hpp"
#include "wire/job_query.hpp"
#include "wire/json_reader.hpp"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

int fail(const Error& error) {
    print_error(error);
    return 1;
}

// Until the supervisor closes the connection, which it does when everything has ended.
void stop_by_supervisor(const Fd& supervisor, std::int64_t grace_ms, int signal) {
    const auto line = wire::job_command_line(
        {.type = wire::JobCommand::Type::stop, .grace_ms = grace_ms, .signal = signal});
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

int stop(const wire::JobQuery& arguments) {
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    const bool known = load_summary(arguments.job).has_value();
    if (const auto supervisor = connect_unix(control_socket(arguments.job), SOCK_STREAM)) {
        stop_by_supervisor(*supervisor, arguments.grace_ms, arguments.signal);
    }
    const auto left = end_processes(
        {.mark = arguments.job},
        {.grace_ms = arguments.grace_ms, .signal = arguments.signal == 0 ? SIGTERM : arguments.signal});
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
    remove_scratch(arguments.job); // where the supervisor could not
    print_event(event);
    return 0;
}

int list() {
    for (const auto& id : job_ids()) {
        auto summary = load_summary(id);
        if (summary) {
            if (summary->running && !is_running(id)) {
                // It may have ended just now, and have said so before it closed its door.
                summary = load_summary(id);
                if (!summary) {
                    continue;
                }
                if (summary->running) {
                    summary->running = false;
                    auto result = lost_result();
                    result.usage = summary->result.usage; // until shortly before
                    summary->result = std::move(result);
                }
            }
            if (summary->running) {
                summary->duration_ms = std::max<std::int64_t>(unix_ms() - summary->started_ms, 1);
            }
            (void)write_all(STDOUT_FILENO, wire::dump(nlohmann::json(*summary)) + "\n");
        }
    }
    return 0;
}

// Nothing where nothing was kept: the job may have been too short.
int history(const std::string& job, const std::string& points) {
    const auto most = whole_number<std::size_t>(points);
    if (!wire::is_job_id(job) || !most || *most == 0) {
        return 2;
    }
    if (auto kept = load_history(job)) {
        (void)write_all(STDOUT_FILENO, wire::job_history_line(thinned(std::move(*kept), *most)));
    }
    return 0;
}

} // namespace

int run_job(const std::vector<std::string>& arguments) {
    ::umask(022);
    const auto what = arguments.empty() ? std::string() : arguments[0];
    if (what == "start" && arguments.size() == 1) {
        return run_job_start();
    }
    if (what == "list" && arguments.size() == 1) {
        return list();
    }
    if (what == "history" && arguments.size() == 3) {
        return history(arguments[1], arguments[2]);
    }
    if ((what == "follow" || what == "stop") && arguments.size() == 2) {
        const auto parsed = wire::parse_job_query(arguments[1]);
        if (!parsed) {
            return fail(parsed.error());
        }
        return what == "stop" ? stop(*parsed) : follow_job(*parsed, {});
    }
    if (what == "link" && arguments.size() == 4) {
        return run_coordinator_end(arguments[1], arguments[2], arguments[3]);
    }
    (void)write_all(STDERR_FILENO, "usage: dockdist-init job start | follow JSON | stop JSON | list | "
                                   "history JOB POINTS | link JOB PART TERM\n");
    return 2;
}

} // namespace dockdist::node
