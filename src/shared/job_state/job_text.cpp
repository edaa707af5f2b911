#include "shared/job_state/job_text.hpp"

#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>

namespace dockdist {
namespace {

std::string seconds(std::int64_t ms) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.3g s", static_cast<double>(ms) / 1000);
    return text.data();
}

std::string nodes(int count) {
    return std::to_string(count) + (count == 1 ? " node" : " nodes");
}

std::string attempt_text(int attempt, const wire::JobPolicy& policy) {
    return "attempt " + std::to_string(attempt + 1) + " of " + std::to_string(policy.max_restarts + 1);
}

std::string what_follows(const Loss& loss, const wire::JobPolicy& policy) {
    using Then = Loss::Then;
    const auto attempt = attempt_text(loss.attempt, policy);
    const auto when = loss.surely_gone ? " in " + seconds(loss.in_ms) : ", once its ranks have ended";
    switch (loss.then) {
    case Then::replaced:
        return attempt + " begins with " + loss.by + " in its place" + when;
    case Then::left_out:
        return attempt + " begins without it on " + nodes(loss.left) + when;
    case Then::spare:
        return "it was spare, the job goes on; spare nodes left: " + std::to_string(loss.left);
    case Then::stopped:
        break;
    }
    return "the job is stopped everywhere: " +
           (loss.restarts
                ? nodes(loss.left) + (loss.left == 1 ? " is" : " are") + " left, and it needs " +
                      std::to_string(policy.min_nodes)
                : "no restarts are left (--max-restarts " + std::to_string(policy.max_restarts) + ")");
}

} // namespace

std::string failure_text(const wire::JobFailure& failure) {
    if (!failure.finding.empty()) {
        return failure.finding;
    }
    const auto cause = failure.cause.empty() ? "" : ": " + failure.cause;
    const auto who = failure.rank < 0 ? std::string("the command") : "rank " + std::to_string(failure.rank);
    if (failure.oom) {
        return who + " was killed: out of memory (its limit was reached)" + cause;
    }
    if (failure.signal != 0) {
        return who + " was ended by signal " + std::to_string(failure.signal) + " (" +
               ::strsignal(failure.signal) + ")" + cause;
    }
    return who + " exited with " + std::to_string(failure.code) + cause;
}

std::string last_lines_text(const wire::JobFailure& failure, const JobId& job, const Screenful& room) {
    constexpr std::size_t header_bytes = 120;
    if (failure.tail == "dockdist: " + failure.cause + "\n") {
        return {}; // the failure's text says it
    }
    const auto last =
        telling_lines(failure.tail, {.lines = room.lines - 1, .bytes = room.bytes - header_bytes});
    if (last.text.empty()) {
        return {};
    }
    std::string text = "its last lines";
    if (last.left_out > 0) {
        const auto whose = !failure.finding.empty() ? std::string()
                           : failure.rank < 0       ? " --node " + failure.node
                                                    : " --rank " + std::to_string(failure.rank);
        text += ", " + std::to_string(last.left_out) + " left out (`dockdist logs " + job.str() + whose +
                "` has all)";
    }
    text += ":";
    for (const auto& line : split(last.text, '\n')) {
        text += "\n" + printable(line);
    }
    return text;
}

Cause missing_script(const std::string& path) {
    const auto folder = path.substr(0, path.rfind('/'));
    const auto place = folder.empty() ? std::string("/workspace") : folder;
    return {.cause = "there is no " + path + " on this node",
            .advice = "`sync: [\".:" + place + "\"]` in the file brings it there" +
                      (folder.empty() ? ", with `container.workdir: " + place + "`" : "") +
                      "; --workdir names another folder"};
}

Cause taken_port(const TakenPort& taken, const std::string& job) {
    const auto number = taken.port == 0 ? std::string() : " " + std::to_string(taken.port);
    Cause found{.cause = "the port" + number + " that it wants is taken"};
    if (taken.by.empty()) {
        found.advice = taken.port == 0 ? "its last lines may say which one; each rank needs one of its own"
                                       : "on the host, `ss -ltnp sport = :" + std::to_string(taken.port) +
                                             "` tells who holds it";
        return found;
    }
    found.cause += " by " + taken.by;
    if (taken.job == job) {
        found.cause += taken.rank.empty() ? " of this job" : ", rank " + taken.rank + " of this job";
        found.advice = "two processes of a node cannot listen on one port: add LOCAL_RANK to it, or let one "
                       "alone listen";
    } else if (!taken.job.empty()) {
        found.cause += " of job " + taken.job;
        found.advice = "`dockdist stop " + taken.job + "` ends that; or take another port";
    } else {
        found.advice = "end that, or take another port; what `dockdist run` gives (MASTER_PORT) is free";
    }
    return found;
}

std::string located_text(const wire::JobFailure& failure) {
    return (failure.finding.empty() ? failure.node + ": " : "") + failure_text(failure);
}

std::string restart_text(const wire::JobFailure& because, int attempt, std::int64_t in_ms,
                         const wire::JobPolicy& policy) {
    return failure_text(because) + ": " + attempt_text(attempt, policy) + " begins in " + seconds(in_ms);
}

std::string stop_text(const wire::JobFailure& because) {
    return failure_text(because) + ": the job is stopped everywhere";
}

std::string loss_text(const Loss& loss, const wire::JobPolicy& policy) {
    return "lost: " + loss.why + ": " + what_follows(loss, policy);
}

std::string wait_text(int attempt, std::int64_t for_ms, const wire::JobPolicy& policy) {
    return "does not answer: its ranks may run for " + seconds(for_ms) + " more, and " +
           attempt_text(attempt, policy) + " waits for that";
}

std::string leave_text(const std::string& reason) {
    return reason == "lease"      ? "it has heard of no coordinator for its lease"
           : reason == "shutdown" ? "its container was stopped"
                                  : "its supervisor was killed";
}

std::string silent_node_text(const std::string& node, std::int64_t ms) {
    return "nothing was heard of " + node + " for " + std::to_string(ms / 1000) + " s";
}

std::string silent_coordinator_text(const std::string& node, std::int64_t ms) {
    return silent_node_text("the job's coordinator, " + node + ",", ms);
}

std::string lone_coordinator_text(std::int64_t ms) {
    return silent_node_text("half of the job's nodes", ms) + ": it is for them to go on";
}

std::string resigned_text(const std::string& node) {
    return node + " has left the job";
}

std::string takes_over_text(const std::string& node, const std::string& former) {
    return node + " carries the job from now on, in place of " + former;
}

std::string silence_text(const wire::JobPolicy& policy) {
    return "no rank wrote anything for " + format_exact_duration(std::chrono::milliseconds(policy.stall_ms));
}

std::string stall_text(const wire::JobPolicy& policy, const std::string& first_silent) {
    return silence_text(policy) + " (" + first_silent +
           " was the first to fall silent): what each is doing follows" +
           (policy.stop_stalled ? ", then the job is stopped" : "");
}

std::string idleness_text(const wire::JobPolicy& policy, int gpus) {
    return "the job's " + (gpus == 1 ? std::string("GPU") : std::to_string(gpus) + " GPUs") +
           " did nothing for " + format_exact_duration(std::chrono::milliseconds(policy.idle_ms));
}

std::string idle_text(const wire::JobPolicy& policy, int gpus) {
    return idleness_text(policy, gpus) +
           ", and nobody else has them until it ends (`--on-idle stop` ends such a job)";
}

std::string ready_text(const std::string& address) {
    return "ready: " + address + " answers";
}

std::string missing_ranks_text(int missing, int wanted) {
    return "the launcher ended with 0, and has started " + std::to_string(wanted - missing) + " of " +
           std::to_string(wanted) + " ranks: its own lines say why";
}

std::string second_rank_text(int rank, const std::vector<std::string>& nodes) {
    std::string where;
    for (const auto& node : nodes) {
        where += (where.empty() ? "" : " and on ") + node;
    }
    return "rank " + std::to_string(rank) + " was started " + (nodes.size() > 1 ? "" : "twice ") + "on " +
           where + ": " +
           (nodes.size() > 1 ? "these have each run a job of their own"
                             : "more than one node's launcher starts the whole job") +
           "; look at what the launcher's own configuration says of nodes and hosts";
}

} // namespace dockdist
