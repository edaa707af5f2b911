// What is said of a job, each thing in one wording: the client's terminal, the log of a detached job and the
// tables have it from here.
#pragma once

#include "shared/core/names.hpp"
#include "shared/core/telling_lines.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <string>

namespace dockdist {

// "rank 3 exited with 7", "the command was ended by signal 11 (Segmentation fault)", with its cause behind a
// colon where one is known; a finding is its own text.
std::string failure_text(const wire::JobFailure& failure);
// What it wrote last, a line each behind one that says so; the lines that tell why, and where all are. Empty:
// it wrote nothing.
std::string last_lines_text(const wire::JobFailure& failure, const JobId& job, const Screenful& room);
// What a node finds out about a failure of its own, for JobFailure.
struct Cause {
    std::string cause{}, advice{};
};
// `path`: absolute.
Cause missing_script(const std::string& path);
// Who listens on a port that a rank wants; `by` as "process 12 (python3)", empty: nobody that can be seen.
struct TakenPort {
    int port = 0; // 0: the rank did not say which
    std::string by{};
    std::string job{};  // whose process it is
    std::string rank{}; // that it is of it
};
Cause taken_port(const TakenPort& taken, const std::string& job);

// As failure_text, with the node: "node-1: rank 3 exited with 7". A finding names the nodes that it is about.
std::string located_text(const wire::JobFailure& failure);

// A failed attempt that another one follows: "rank 3 exited with 7: attempt 2 of 4 begins in 1 s".
std::string restart_text(const wire::JobFailure& because, int attempt, std::int64_t in_ms,
                         const wire::JobPolicy& policy);
// "rank 3 exited with 7: the job is stopped everywhere".
std::string stop_text(const wire::JobFailure& because);

// What becomes of the job now that a part is lost.
struct Loss {
    enum class Then { replaced, left_out, spare, stopped };
    Then then = Then::stopped;
    std::string why{};
    std::string by{};        // replaced: the node that takes its place
    int left = 0;            // spare: of the spares; else of the nodes
    bool restarts = true;    // stopped: there were some left, but too few nodes
    int attempt = 0;         // replaced, left_out: the one that begins
    std::int64_t in_ms = 0;  // the same
    bool surely_gone = true; // else the attempt begins when its ranks have ended, which wait_text tells
};
// "lost: its container was stopped: attempt 2 of 4 begins without it on 3 nodes in 1 s".
std::string loss_text(const Loss& loss, const wire::JobPolicy& policy);
// "does not answer: its ranks may run for 14 s more, and attempt 2 of 4 waits for that".
std::string wait_text(int attempt, std::int64_t for_ms, const wire::JobPolicy& policy);
// Why a part has gone, from the reason in its result: "its container was stopped".
std::string leave_text(const std::string& reason);

// "nothing was heard of node-1 for 30 s"; of whoever carries the job; of all others.
std::string silent_node_text(const std::string& node, std::int64_t ms);
std::string silent_coordinator_text(const std::string& node, std::int64_t ms);
std::string lone_coordinator_text(std::int64_t ms);
// "node-0 has left the job", of one that said so.
std::string resigned_text(const std::string& node);
// "node-1 carries the job from now on, in place of node-0".
std::string takes_over_text(const std::string& node, const std::string& former);

// "no rank wrote anything for 10 min".
std::string silence_text(const wire::JobPolicy& policy);
// "no rank wrote anything for 10 min (node-1 was the first to fall silent): what each is doing follows".
std::string stall_text(const wire::JobPolicy& policy, const std::string& first_silent);

// "the job's 4 GPUs did nothing for 30 min"; and what is told where that is no failure.
std::string idleness_text(const wire::JobPolicy& policy, int gpus);
std::string idle_text(const wire::JobPolicy& policy, int gpus);

// "ready: http://10.0.0.1:8000 answers".
std::string ready_text(const std::string& address);

// Of a launcher that ended with 0 and has started fewer ranks than it was to.
std::string missing_ranks_text(int missing, int wanted);
// Of a rank that there is more than once: on one node at the same time, or on several.
std::string second_rank_text(int rank, const std::vector<std::string>& nodes);

} // namespace dockdist
