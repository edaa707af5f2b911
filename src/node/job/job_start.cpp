#include "node/job/job_start.hpp"

#include "node/job/follower.hpp"
#include "node/job/job_frames.hpp"
#include "node/job/job_store.hpp"
#include "node/job/questions.hpp"
#include "node/job/supervisor.hpp"
#include "node/session/job_part.hpp"
#include "node/session/session.hpp"
#include "node/system/loop.hpp"
#include "node/system/port_reservation.hpp"
#include "node/system/secret.hpp"
#include "node/system/unix_socket.hpp"
#include "wire/frame.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::size_t longest_client_line = 64U << 20U; // files travel in it

// All that is made outside this process, in an order that leaves another job of that name alone.
Status make_places(PreparedJob& job, std::int64_t log_limit) {
    const auto& id = job.part.job;
    if (auto created = create_job(id); !created) {
        return created;
    }
    const auto made = job.enter_attempt(0);
    auto log = OutputLog::create(job_folder(id), log_limit);
    auto control = listen_unix(control_socket(id), SOCK_STREAM, 0600, {::geteuid(), ::getegid()});
    const Owner user{job.account.uid, job.account.gid};
    auto ranks = listen_unix(rank_socket(id), SOCK_SEQPACKET, 0600, user);
    auto members = listen_unix(member_socket(id), SOCK_STREAM, 0600, user);
    // Last: who finds a summary takes a job without a door for one whose supervisor was killed.
    const auto saved = made && log && control && ranks && members ? save_summary(job.summary) : ok;
    if (!made || !log || !control || !ranks || !members || !saved) {
        remove_scratch(id);
        remove_tree(job_folder(id));
        return !made      ? made.error()
               : !log     ? log.error()
               : !control ? control.error()
               : !ranks   ? ranks.error()
               : !members ? members.error()
                          : saved.error();
    }
    prune_jobs(job.summary.started_ms);
    job.log = std::move(*log);
    job.control = std::move(*control);
    job.ranks = std::move(*ranks);
    job.members = std::move(*members);
    return ok;
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
        Loop loop;
        const auto part = supervise(loop, std::move(job));
        part->begin();
        if (!part->is_gone()) {
            loop.run();
        }
        ::_exit(0);
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

// The opening waits for its first line, then for the answers, then for the start; commands may come at any
// time.
class Starter {
public:
    int run();

private:
    void read_client();
    void take_lines();
    bool obey(const wire::JobCommand& command);
    bool has_begun() const;
    Status open(const std::string& line);
    void tell_facts(std::vector<wire::Answer> answers);
    Status start(const std::string& line);
    void watch_lease();
    void end(int code);
    void fail(const Error& error);

    Loop loop_{};
    std::string from_client_{};
    wire::JobOpening opening_{};
    Account account_{};
    JobPart part_{};
    std::vector<ReservedPort> ports_{};
    std::unique_ptr<Questions> questions_{};
    std::int64_t last_heard_ms_ = loop_.now_ms();
    bool opened_ = false;
    bool told_ = false; // the facts
    bool started_ = false;
    bool ended_ = false;
    int code_ = 0;
};

int Starter::run() {
    loop_.watch(STDIN_FILENO, POLLIN, [this](short) { read_client(); });
    loop_.run();
    questions_.reset();
    if (!started_) {
        return code_;
    }
    return follow_job({.job = part_.job}, from_client_);
}

void Starter::end(int code) {
    ended_ = true;
    code_ = code;
    loop_.stop();
}

void Starter::fail(const Error& error) {
    print_error(error);
    end(1);
}

void Starter::read_client() {
    char buffer[65536];
    const auto count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) {
        return;
    }
    if (count <= 0) {
        return opened_
                   ? end(0)
                   : fail(Error{.kind = ErrorKind::protocol, .message = "the job's opening was cut short"});
    }
    last_heard_ms_ = loop_.now_ms();
    from_client_.append(buffer, static_cast<std::size_t>(count));
    take_lines();
    if (!ended_ && from_client_.size() > longest_client_line) {
        fail(Error{.kind = ErrorKind::protocol, .message = "a line of the client is longer than 64 MiB"});
    }
}

void Starter::take_lines() {
    for (auto end = from_client_.find('\n'); !ended_ && end != std::string::npos;
         end = from_client_.find('\n')) {
        const auto line = from_client_.substr(0, end);
        Status done = ok;
        if (!opened_) {
            from_client_.erase(0, end + 1);
            done = open(line);
        } else if (const auto command = wire::parse_job_command(line)) {
            from_client_.erase(0, end + 1);
            if (!obey(*command)) {
                return;
            }
        } else if (!told_) {
            return; // it is looked at again when the facts are told
        } else {
            from_client_.erase(0, end + 1);
            done = start(line);
        }
        if (!done) {
            return fail(done.error());
        }
    }
}

// False when it was told to stop.
bool Starter::obey(const wire::JobCommand& command) {
    switch (command.type) {
    case wire::JobCommand::Type::ping:
        (void)write_all(STDOUT_FILENO, wire::encode({.kind = wire::Frame::Kind::pong}));
        return true;
    case wire::JobCommand::Type::line:
    case wire::JobCommand::Type::take:
    case wire::JobCommand::Type::halt:
    case wire::JobCommand::Type::begin:
    case wire::JobCommand::Type::report:
    case wire::JobCommand::Type::detach:
        return true; // nothing to do them to
    case wire::JobCommand::Type::stop:
    case wire::JobCommand::Type::over:
        break;
    }
    wire::JobEvent event{.type = wire::JobEvent::Type::exited};
    event.result.stopped = true;
    event.result.reason = "stop";
    print_event(event);
    end(0);
    return false;
}

// By an exec before this one, whose client has not heard of it.
bool Starter::has_begun() const {
    const auto summary = load_summary(opening_.job);
    return summary && !opening_.token.empty() && same_secret(summary->token, opening_.token);
}

Status Starter::open(const std::string& line) {
    auto opening = wire::parse_job_opening(line);
    if (!opening) {
        return opening.error();
    }
    opening_ = std::move(*opening);
    opened_ = true;
    part_.job = opening_.job;
    if (auto free = check_name(opening_.job); !free) {
        if (!has_begun()) {
            return free; // before the other nodes have begun
        }
        told_ = true; // there is nothing to find out for it
        watch_lease();
        return ok;
    }
    std::string problem;
    account_ = named_account(opening_.user, problem);
    if (!problem.empty()) {
        return Error{.kind = ErrorKind::config,
                     .message = problem,
                     .hint = "set container.user to a user of the image or to a numeric uid"};
    }
    auto ports = opening_.same_ports.empty() ? reserve_ports(opening_.job, opening_.ports)
                                             : reserve_these_ports(opening_.same_ports);
    if (!ports) {
        return ports.error();
    }
    ports_ = std::move(*ports);
    part_ = {.job = opening_.job,
             .env = opening_.env,
             .secrets = opening_.secrets,
             .rank_secrets = true, // until the start says more: the questions need none
             .unset = opening_.unset,
             .workdir = opening_.workdir.empty() ? recorded_workdir() : opening_.workdir};
    const Asking asking{.account = account_,
                        .environment = job_environment(recorded_environment(), part_, account_),
                        .workdir = part_.workdir};
    questions_ = std::make_unique<Questions>(
        loop_, opening_.questions, asking,
        [this](std::vector<wire::Answer> answers) { tell_facts(std::move(answers)); });
    return ok;
}

void Starter::tell_facts(std::vector<wire::Answer> answers) {
    questions_.reset();
    wire::JobEvent event{.type = wire::JobEvent::Type::prepared};
    event.facts.answers = std::move(answers);
    for (const auto& port : ports_) {
        event.facts.ports.push_back(port.number);
    }
    print_event(event);
    told_ = true;
    last_heard_ms_ = loop_.now_ms();
    watch_lease();
    take_lines();
}

// Ports must not stay taken for a client that is gone without a word.
void Starter::watch_lease() {
    const auto left = last_heard_ms_ + opening_.lease_ms - loop_.now_ms();
    if (left <= 0) {
        return end(1);
    }
    loop_.after(left, [this] { watch_lease(); });
}

Status Starter::start(const std::string& line) {
    auto start = wire::parse_job_start(line);
    if (!start) {
        return start.error();
    }
    if (has_begun()) {
        started_ = true;
        end(0);
        return ok;
    }
    PreparedJob job;
    job.summary = {.job = part_.job,
                   .running = true,
                   .started_ms = unix_ms(),
                   .lease_ms = opening_.lease_ms,
                   .token = opening_.token};
    job.part = part_;
    job.opening_env = opening_.env;
    job.take_start(std::move(*start));
    job.account = account_;
    job.grace_ms = opening_.grace_ms;
    job.timeout_ms = opening_.timeout_ms;
    if (auto made = make_places(job, opening_.log_limit); !made) {
        return made;
    }
    job.ports = std::move(ports_);
    if (auto begun = start_supervisor(std::move(job)); !begun) {
        remove_scratch(part_.job);
        return begun;
    }
    started_ = true;
    end(0);
    return ok;
}

} // namespace

int run_job_start() {
    return Starter().run();
}

} // namespace dockdist::node
