#include "node/job/srun/step_part.hpp"

#include "node/job/rank/rank_environment.hpp"
#include "node/job/srun/srun_environment.hpp"
#include "node/job/srun/step_messages.hpp"
#include "node/job/srun/step_task.hpp"
#include "node/session/job_part.hpp"
#include "node/system/gpus.hpp"
#include "node/system/paths.hpp"
#include "node/system/port_reservation.hpp"
#include "node/system/process.hpp"
#include "node/system/process_killer.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/job.hpp"
#include "shared/wire/join.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <deque>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::int64_t hangup_ms = 5000; // between TERM and KILL, when srun is gone
constexpr std::int64_t unlimited_ms = std::int64_t{1} << 40;
constexpr std::size_t most_waiting = 1U << 20U; // of a task's stdin
constexpr int most_reads = 64;                  // of a full pipe

// The GPUs that this session sees: the job's, the user's choice, or the node's.
std::vector<std::string> visible_gpus(const Environment& environment) {
    if (const auto list = visible_to(environment)) {
        return list->empty() ? std::vector<std::string>{} : split(*list, ',');
    }
    const auto record = wire::parse_members(read_file_or_empty(paths().members));
    std::vector<std::string> gpus;
    if (const auto name = environment.get("DOCKDIST_NODE"); record && name) {
        for (const auto& node : record->nodes) {
            for (int i = 0; node.node == *name && i < node.gpus; ++i) {
                gpus.push_back(std::to_string(i));
            }
        }
    }
    return gpus;
}

class StepPart {
public:
    int run();

private:
    void hear_srun();
    void take(wire::Frame frame);
    Status open(StepOpening opening);
    Status start(StepStart start);
    Environment environment_of(int local_rank) const;
    void watch_output(const Fd& pipe, std::uint8_t stream, int rank);
    enum class Got { some, nothing, end };
    Got read_output(const Fd& pipe, std::uint8_t stream, int rank);
    void drain(const Fd& pipe, std::uint8_t stream, int rank);
    void drain(const StepTask& task);
    void take_input(int rank, const std::string& bytes);
    void feed(StepTask& task);
    void hear_signals();
    void reap();
    void end_all(std::int64_t grace_ms, int signal = SIGTERM);
    void job_ends(int signal);
    void finish();
    void tell(const StepMessage& message) { tell_bytes(step_frame(message)); }
    void tell_bytes(const std::string& bytes);
    void fail(const std::string& message);

    Loop loop_{};
    wire::FrameDecoder decoder_{};
    Fd signals_{};
    StepOpening opening_{};
    StepStart start_{};
    std::vector<ReservedPort> ports_{};
    std::vector<std::string> gpus_{}; // that the session sees
    std::deque<StepTask> tasks_{};    // they stay where they are
    std::string buffer_ = std::string(64U << 10U, '\0');
    Sweep sweep_{loop_, "", [this](const std::vector<pid_t>&) { finish(); }};
    std::size_t running_ = 0;
    bool opened_ = false;
    bool started_ = false;
    bool finished_ = false;
    bool has_part_ = false; // of the job, whose supervisor is here
    bool job_ends_ = false; // and ends what does not end by itself
    int code_ = 0;
};

int StepPart::run() {
    become_gate(step_gate);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1); // what the tasks leave behind is ended too
    ::signal(SIGPIPE, SIG_IGN);
    constexpr std::array watched{SIGCHLD, SIGTERM, SIGHUP, SIGINT};
    auto signals = take_signals(watched);
    if (!signals) {
        fail(signals.error().message);
        return 1;
    }
    signals_ = std::move(*signals);
    loop_.watch(signals_.get(), POLLIN, [this](short) { hear_signals(); });
    loop_.watch(STDIN_FILENO, POLLIN, [this](short) { hear_srun(); });
    loop_.run();
    return code_;
}

void StepPart::tell_bytes(const std::string& bytes) {
    if (!write_all(STDOUT_FILENO, bytes)) {
        end_all(hangup_ms);
    }
}

void StepPart::fail(const std::string& message) {
    tell({.type = StepMessage::Type::error, .message = message});
    code_ = 1;
    end_all(0);
}

void StepPart::hear_srun() {
    const auto count = ::read(STDIN_FILENO, buffer_.data(), buffer_.size());
    if (count < 0 && errno == EINTR) {
        return;
    }
    if (count <= 0) {
        loop_.forget(STDIN_FILENO);
        return end_all(hangup_ms);
    }
    decoder_.feed(std::string_view(buffer_).substr(0, static_cast<std::size_t>(count)));
    for (auto frame = decoder_.next(); !frame || *frame; frame = decoder_.next()) {
        if (!frame) {
            loop_.forget(STDIN_FILENO);
            return fail(frame.error().message);
        }
        take(std::move(**frame));
    }
}

void StepPart::take(wire::Frame frame) {
    if (frame.kind == wire::Frame::Kind::output) {
        return take_input(frame.rank, frame.payload);
    }
    auto message = parse_step_message(frame.payload);
    if (!message) {
        return fail(message.error().message);
    }
    Status done = ok;
    switch (message->type) {
    case StepMessage::Type::opening:
        done = open(std::move(message->opening));
        break;
    case StepMessage::Type::start:
        done = start(std::move(message->start));
        break;
    case StepMessage::Type::signal:
        for (const auto& task : tasks_) {
            signal_step_task(task, job_ends_ ? 0 : message->number);
        }
        break;
    case StepMessage::Type::end:
        if (!message->with_job || !has_part_) {
            end_all(message->grace_ms, message->signal);
        }
        break;
    default:
        break; // what parts say
    }
    if (!done) {
        fail(done.error().message);
    }
}

Status StepPart::open(StepOpening opening) {
    if (opened_) {
        return Error{.kind = ErrorKind::protocol, .message = "the step was opened twice"};
    }
    opened_ = true;
    opening_ = std::move(opening);
    const auto own = Environment::own();
    const auto part = load_part(own.get(wire::job_mark).value_or(""));
    has_part_ = part.has_value();
    if (part && part->units > 0 && opening_.tasks > part->units && !opening_.overcommit) {
        return Error{.kind = ErrorKind::busy,
                     .message =
                         "More processors requested than permitted: " + std::to_string(opening_.tasks) +
                         " tasks, and the job has " + std::to_string(part->units) +
                         " of its slots (-O starts more tasks than slots)"};
    }
    gpus_ = visible_gpus(own);
    const auto seen = static_cast<int>(gpus_.size());
    if (opening_.gpus > seen) {
        return Error{.kind = ErrorKind::busy,
                     .message =
                         "Requested node configuration is not available: " + std::to_string(opening_.gpus) +
                         " GPUs, and " + (part ? "the job has " : "there are ") + std::to_string(seen)};
    }
    auto ports = reserve_ports(opening_.step, opening_.ports);
    TRY(ports);
    ports_ = std::move(*ports);
    StepMessage prepared{.type = StepMessage::Type::prepared};
    prepared.prepared.gpus = opening_.gpus < 0 ? seen : opening_.gpus;
    for (const auto& port : ports_) {
        prepared.prepared.ports.push_back(port.number);
    }
    tell(prepared);
    return ok;
}

Environment StepPart::environment_of(int local_rank) const {
    auto environment = Environment::own();
    for (const auto& name : start_.unset) {
        environment.unset(name);
    }
    for (const auto& [name, value] : start_.env) {
        environment.set(name, value);
    }
    number_rank(environment, {.rank = start_.first_rank + local_rank,
                              .local_rank = local_rank,
                              .world = start_.world,
                              .local_world = opening_.tasks,
                              .cpus = own_cpus()});
    if (opening_.gpus >= 0) {
        const auto list = gpus_of_task(gpus_, opening_.gpus, opening_.gpus_per_task, local_rank);
        show_gpus(environment, list);
        environment.set("SLURM_STEP_GPUS", list);
    }
    return environment;
}

Status StepPart::start(StepStart start) {
    if (!opened_ || started_) {
        return Error{.kind = ErrorKind::protocol, .message = "the step was started out of order"};
    }
    started_ = true;
    start_ = std::move(start);
    raise_memlock_limit();
    for (int local_rank = 0; local_rank < opening_.tasks; ++local_rank) {
        const int rank = start_.first_rank + local_rank;
        auto task = start_step_task(start_, rank, environment_of(local_rank));
        TRY(task);
        ++running_;
        const auto& placed = tasks_.emplace_back(std::move(*task));
        watch_output(placed.out, 1, rank);
        watch_output(placed.err, 2, rank);
    }
    return ok;
}

void StepPart::watch_output(const Fd& pipe, std::uint8_t stream, int rank) {
    loop_.watch(pipe.get(), POLLIN, [this, &pipe, stream, rank](short) {
        if (read_output(pipe, stream, rank) == Got::end) {
            loop_.forget(pipe.get());
        }
    });
}

StepPart::Got StepPart::read_output(const Fd& pipe, std::uint8_t stream, int rank) {
    const auto count = ::read(pipe.get(), buffer_.data(), buffer_.size());
    if (count > 0) {
        tell_bytes(wire::encode({.kind = wire::Frame::Kind::output,
                                 .stream = stream,
                                 .rank = rank,
                                 .payload = buffer_.substr(0, static_cast<std::size_t>(count))}));
        return Got::some;
    }
    return count < 0 && (errno == EINTR || errno == EAGAIN) ? Got::nothing : Got::end;
}

// What is in the pipe now, and no more: what a task has left behind may go on writing.
void StepPart::drain(const Fd& pipe, std::uint8_t stream, int rank) {
    for (int i = 0; i < most_reads && read_output(pipe, stream, rank) == Got::some; ++i) {
    }
}

void StepPart::drain(const StepTask& task) {
    drain(task.out, 1, task.rank);
    drain(task.err, 2, task.rank);
}

void StepPart::take_input(int rank, const std::string& bytes) {
    for (auto& task : tasks_) {
        if (task.in.open() && (rank < 0 || rank == task.rank)) {
            task.waiting += bytes;
            task.in_ends = bytes.empty();
            feed(task);
        }
    }
}

// While a task takes nothing, srun is not heard: that holds up who writes.
void StepPart::feed(StepTask& task) {
    while (!task.waiting.empty()) {
        const auto count = ::write(task.in.get(), task.waiting.data(), task.waiting.size());
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 && errno == EAGAIN) {
            break;
        }
        task.waiting.erase(0, count < 0 ? std::string::npos : static_cast<std::size_t>(count));
    }
    const int fd = task.in.get();
    loop_.forget(fd);
    if (!task.waiting.empty()) {
        loop_.watch(fd, POLLOUT, [this, &task](short) { feed(task); });
    } else if (task.in_ends) {
        task.in.reset();
    }
    const bool full =
        std::ranges::any_of(tasks_, [](const StepTask& one) { return one.waiting.size() > most_waiting; });
    loop_.want(STDIN_FILENO, full ? 0 : POLLIN);
}

void StepPart::hear_signals() {
    signalfd_siginfo info{};
    bool told = false;
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
        if (is_of_an_end(info)) {
            job_ends(static_cast<int>(info.ssi_signo));
        } else {
            told = told || info.ssi_signo != SIGCHLD;
        }
    }
    if (told) {
        end_all(hangup_ms);
    }
    reap();
}

void StepPart::reap() {
    bool some = false;
    int status = 0;
    for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
        const auto task = std::ranges::find(tasks_, pid, &StepTask::pid);
        if (task == tasks_.end()) {
            continue; // of a task's own, left to this process
        }
        some = true;
        task->pid = 0;
        --running_;
        if (task->in.open()) {
            loop_.forget(task->in.get());
            task->in.reset();
            task->waiting.clear();
        }
        drain(*task);
        const auto end = exit_status(status);
        tell({.type = StepMessage::Type::task_ended,
              .task = {.rank = task->rank, .code = end.code, .signal = end.signal}});
    }
    sweep_.look();
    if (some && running_ == 0) {
        end_all(0); // as Slurm does with what the tasks have left behind
    }
}

void StepPart::end_all(std::int64_t grace_ms, int signal) {
    if (!finished_ && !job_ends_) {
        sweep_.begin(Sweep::What::leftovers, {.grace_ms = grace_ms, .signal = signal});
    }
}

// By whoever ends it everywhere. The tasks hear of it once, whatever srun says, and have as long as that one
// gives them.
void StepPart::job_ends(int signal) {
    end_all(unlimited_ms, signal);
    job_ends_ = true;
}

void StepPart::finish() {
    reap();
    if (std::exchange(finished_, true)) {
        return;
    }
    for (const auto& task : tasks_) {
        drain(task);
    }
    tell({.type = StepMessage::Type::ended});
    loop_.stop();
}

} // namespace

int run_step_part() {
    return StepPart().run();
}

} // namespace dockdist::node
