// How an attempt ends, and how the part does.
#include "node/job/command_start.hpp"
#include "node/job/failure_cause.hpp"
#include "node/job/job_store.hpp"
#include "node/job/part_supervisor.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace dockdist::node {
namespace {

constexpr std::size_t most_failures = 1024;  // of an attempt
constexpr std::size_t most_explained = 8;    // in full: people look at the first
constexpr std::size_t usual_scratch = 10000; // entries

} // namespace

// Where ranks are started from another node, what has started them ends on all nodes when no rank is left on
// any; but not where this container is stopped alone.
Ending Supervisor::ending(std::int64_t grace_ms, int signal) const {
    const auto& policy = job_.start.policy;
    const auto part = static_cast<std::size_t>(job_.start.part);
    const bool hosts = part < policy.parts.size() && policy.parts[part].hosts_remote_ranks;
    return {.grace_ms = grace_ms,
            .signal = signal == 0 ? job_.signal : signal,
            .ranks_first = hosts || !job_.start.rank_command.empty(),
            .rest_waits = policy.ranks_first && policy.parts.size() > 1 &&
                          job_.summary.result.reason != "shutdown" &&
                          std::ranges::any_of(policy.parts, &wire::PartPolicy::hosts_remote_ranks)};
}

void Supervisor::sweep(Sweep::What what, std::int64_t grace_ms, Then then, int signal) {
    then_ = std::max(then_, then);
    if (then == Then::wait) {
        waiting_ = false; // it says so again when all is gone
    }
    auto how = ending(grace_ms, signal);
    how.ranks_first = how.ranks_first && what == Sweep::What::job;
    sweep_.begin(what, how);
}

void Supervisor::cannot_start(const ProgramError& error, const Cause& cause) {
    note(error.message);
    command_done_ = true;
    job_.summary.result.code = error.code;
    failed({.code = error.code, .cause = cause.cause, .advice = cause.advice});
    swept({});
}

void Supervisor::failed(wire::JobFailure failure) {
    auto& result = job_.summary.result;
    auto& failures = result.failures;
    // It may have failed before those who lost their connection to it, and been slower to end.
    const auto told = result.first || failures.empty() ? result.first : first_of(failures);
    const bool may_be_behind = told && told->rank >= 0;
    if ((stopping_ && !may_be_behind) || failures.size() >= most_failures) {
        return;
    }
    failure.oom = failure.signal == SIGKILL && oom_kills() > oom_kills_before_;
    const bool in_full = failures.size() < most_explained;
    if (in_full) {
        failure.tail = job_.log.telling_tail(failure.rank);
    }
    const bool is_behind = may_be_behind && explains(failure, *told);
    if (stopping_ && !is_behind) {
        return;
    }
    if (in_full) {
        explain(failure, job_);
    }
    failures.push_back(failure);
    if (failures.size() == 1 || is_behind) {
        tell({.type = wire::JobEvent::Type::rank_failed, .failure = std::move(failure)});
    }
    // Who started the rank does not hear of it, and would wait for nobody's order.
    if (!stopping_ && !job_.start.stays && command_ != 0 && !command_done_) {
        stopping_ = ends_for_failure_ = true;
        sweep(Sweep::What::job, job_.grace_ms, Then::exit);
    }
}

// Called when no process of this attempt is left but those that cannot be ended (`left`).
void Supervisor::swept(const std::vector<pid_t>& left) {
    if (finished_) {
        return;
    }
    collect(left);
    if (then_ != Then::exit && job_.start.stays) {
        return wait_for_orders();
    }
    if (!cluster_) {
        return exit();
    }
    cluster_->when_heard([this] {
        if (!finished_) {
            exit();
        }
    });
}

void Supervisor::collect(const std::vector<pid_t>& left) {
    if (!command_done_) {
        reap();
    }
    ranks_.hear_all();
    ranks_.drain();
    drain_command();
    silence_.end();
    still_.end();
    ready_.end();
    job_.summary.result.ranks = ranks_.begun();
    job_.summary.result.rank_numbers = ranks_.numbers();
    if (!command_done_) {
        command_done_ = true;
        conclude_without_command(job_.summary.result, command_ != 0);
    }
    cannot_end_ = !left.empty();
    for (const auto pid : left) {
        note("process " + std::to_string(pid) +
             " does not end: it waits in the kernel for a device or a file server");
    }
}

void Supervisor::wait_for_orders() {
    waiting_ = true;
    (void)save_summary(job_.summary);
    tell({.type = wire::JobEvent::Type::ended, .result = job_.summary.result});
    if (const auto wanted = wanted_) {
        begin(*wanted);
    }
}

// What others wait for comes first: the scratch is the job's user's, who may have made millions of files
// there.
void Supervisor::exit() {
    finished_ = true;
    recorder_.end();
    job_.summary.running = false;
    job_.summary.ready.clear();
    job_.summary.duration_ms = std::max<std::int64_t>(unix_ms() - job_.summary.started_ms, 1);
    job_.ports.clear();
    job_.summary.policy.relaunch.clear();
    (void)save_summary(job_.summary);
    if (!cannot_end_) {
        job_.held.give_back(); // else PID 1 does, when they have ended
        guarded_->is_over();
    }
    const wire::JobEvent event{.type = wire::JobEvent::Type::exited, .result = job_.summary.result};
    const bool removed = remove_scratch(job_.summary.job, usual_scratch);
    remove_doors(job_.summary.job);
    followers_.say_goodbye(wire::job_event(event));
    if (!removed) {
        remove_scratch(job_.summary.job);
    }
    loop_.stop();
}

} // namespace dockdist::node
