#include "node/job/job_command.hpp"

#include "node/job/adoption.hpp"
#include "node/job/detached/coordinator_link.hpp"
#include "node/job/follower.hpp"
#include "node/job/job_frames.hpp"
#include "node/job/job_start.hpp"
#include "node/job/job_store.hpp"
#include "node/job/pruning.hpp"
#include "node/session/job_part.hpp"
#include "node/system/job_guard.hpp"
#include "node/system/process_killer.hpp"
#include "node/system/store.hpp"
#include "node/system/unix_socket.hpp"
#include "shared/core/number.hpp"
#include "shared/usage/recorder.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/job_query.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/stacks.hpp"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::int64_t stop_slack_ms = 15000;    // over the grace
constexpr std::int64_t give_up_limit_ms = 30000; // for PID 1 to end a job whose supervisor does not answer
constexpr std::int64_t rest_of_job_grace_ms = 2000;
constexpr std::int64_t longest_look_pause_ms = 20'000;
constexpr std::int64_t stacks_limit_ms = 90000; // a tool that hangs is ended before

int fail(const Error& error) {
    print_error(error);
    return 1;
}

// Whether the supervisor closes the connection within that time, which it does when everything has ended.
bool has_closed(const Fd& supervisor, std::int64_t within_ms) {
    const auto deadline = monotonic_ms() + within_ms;
    char buffer[4096];
    while (monotonic_ms() < deadline) {
        pollfd ready{.fd = supervisor.get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(std::max<std::int64_t>(deadline - monotonic_ms(), 1))) > 0 &&
            ::recv(supervisor.get(), buffer, sizeof buffer, 0) <= 0) {
            return true;
        }
    }
    return false;
}

// One that does not obey is ended by PID 1, who knows which process it is.
void stop_by_supervisor(const std::string& job, const Fd& supervisor, std::int64_t grace_ms, int signal) {
    const auto line = wire::job_command_line(
        {.type = wire::JobCommand::Type::stop, .grace_ms = grace_ms, .signal = signal});
    (void)::send(supervisor.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (!has_closed(supervisor, grace_ms + stop_slack_ms) && give_up_job(job)) {
        (void)has_closed(supervisor, give_up_limit_ms);
    }
}

int stop(const wire::JobQuery& arguments) {
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    const bool known = load_summary(arguments.job).has_value();
    if (const auto supervisor = connect_unix(control_socket(arguments.job), SOCK_STREAM)) {
        stop_by_supervisor(arguments.job, *supervisor, arguments.grace_ms, arguments.signal);
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

// Where no frames go to stdout.
int say_why(const Error& error) {
    (void)write_all(STDERR_FILENO, to_text(error) + "\n");
    return 1;
}

// What its supervisor answers, and nothing else that it tells its followers. A part that has ended has no
// ranks.
int stacks(const std::string& job, const std::string& pause) {
    const auto pause_ms = whole_number<std::int64_t>(pause);
    if (!wire::is_job_id(job) || !pause_ms || *pause_ms < 0 || *pause_ms > longest_look_pause_ms) {
        return 2;
    }
    const auto supervisor = connect_unix(control_socket(job), SOCK_STREAM);
    if (!supervisor) {
        return load_summary(job) ? 0
                                 : say_why(Error{.kind = ErrorKind::not_found,
                                                 .message = "no job " + job + " on this node",
                                                 .hint = "`dockdist jobs` shows those that there are"});
    }
    const auto order =
        wire::job_command_line({.type = wire::JobCommand::Type::stacks, .pause_ms = *pause_ms});
    (void)::send(supervisor->get(), order.data(), order.size(), MSG_NOSIGNAL);
    const auto deadline = monotonic_ms() + stacks_limit_ms;
    std::string heard;
    char buffer[16384];
    for (std::int64_t left = stacks_limit_ms; left > 0; left = deadline - monotonic_ms()) {
        pollfd ready{.fd = supervisor->get(), .events = POLLIN, .revents = 0};
        if (::poll(&ready, 1, static_cast<int>(left)) <= 0) {
            continue;
        }
        const auto count = ::recv(supervisor->get(), buffer, sizeof buffer, 0);
        if (count <= 0) {
            return 0; // the part has ended
        }
        heard.append(buffer, static_cast<std::size_t>(count));
        for (auto end = heard.find('\n'); end != std::string::npos; end = heard.find('\n')) {
            const auto word = wire::parse_stacks_word(heard.substr(0, end));
            if (word) {
                (void)write_all(STDOUT_FILENO, heard.substr(0, end + 1));
            }
            if (word && word->over) {
                return 0;
            }
            heard.erase(0, end + 1);
        }
    }
    return say_why(
        Error{.kind = ErrorKind::timeout,
              .message = "the job's supervisor on this node does not tell what its ranks are doing"});
}

// By PID 1, for what a supervisor has left that is gone; and with its process, for one that is there and does
// not answer. 0: nothing is left. That supervisor stands still meanwhile, so that it does not do later what
// it does not do now, and ends last: the processes below it are known by it.
int end(const std::vector<std::string>& arguments) {
    const auto& job = arguments[1];
    const auto supervisor = arguments.size() > 2 ? whole_number<pid_t>(arguments[2]) : std::nullopt;
    if (!wire::is_job_id(job) || (arguments.size() > 2 && (!supervisor || *supervisor < 2))) {
        return 2;
    }
    if (supervisor) {
        ::kill(*supervisor, SIGSTOP);
    }
    const auto left = end_processes({.mark = job, .root = supervisor.value_or(0)}, rest_of_job_grace_ms);
    record_lost(job, supervisor ? "the job's supervisor on this node did not answer, and was ended with the "
                                  "job: it was stopped, or it hung"
                                : "");
    remove_doors(job);
    if (supervisor) {
        ::kill(*supervisor, SIGKILL);
    }
    if (left.empty()) {
        remove_scratch(job);
    }
    return left.empty() ? 0 : 1;
}

enum class Listed { recent, all };

// `named`: beside the recent ones, those of that name.
int list(Listed which, const std::string& named = "") {
    if (const auto known = check_store(); !known) {
        (void)write_all(STDERR_FILENO, to_text(known.error()) + "\n");
        return 1;
    }
    for (const auto& id : which == Listed::all ? job_ids() : recent_job_ids(named)) {
        auto summary = load_summary(id);
        if (!summary && summary.error().kind == ErrorKind::protocol) {
            summary = damaged_summary(id, summary.error());
        }
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
        return list(Listed::recent);
    }
    if (what == "list" && arguments.size() == 2 && arguments[1] == "all") {
        return list(Listed::all);
    }
    if (what == "list" && arguments.size() == 3 && arguments[1] == "named") {
        return list(Listed::recent, arguments[2]);
    }
    if (what == "kept" && arguments.size() == 1) {
        (void)write_all(STDOUT_FILENO, wire::to_text(kept_history()));
        return 0;
    }
    if (what == "prune" && arguments.size() == 1) { // by PID 1
        prune_store(unix_ms());
        return 0;
    }
    if (what == "adopt" && arguments.size() == 1) {
        const auto adopted = adopt_jobs(STDIN_FILENO, STDOUT_FILENO);
        return adopted ? 0 : say_why(adopted.error());
    }
    if (what == "history" && arguments.size() == 3) {
        return history(arguments[1], arguments[2]);
    }
    if (what == "stacks" && (arguments.size() == 2 || arguments.size() == 3)) {
        return stacks(arguments[1], arguments.size() == 3 ? arguments[2] : "0");
    }
    if (what == "end" && (arguments.size() == 2 || arguments.size() == 3)) {
        return end(arguments);
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
    (void)write_all(
        STDERR_FILENO,
        "usage: dockdist-init job start | follow JSON | stop JSON | list [all | named NAME] | "
        "kept | prune | adopt | history JOB POINTS | stacks JOB | link JOB PART TERM | end JOB [PID]\n");
    return 2;
}

} // namespace dockdist::node
