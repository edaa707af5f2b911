// What is said of a job, each thing in one wording: the client's terminal, the log of a detached job and the
// tables have it from here.
#pragma once

#include "wire/job.hpp"

#include <cstdint>
#include <string>

namespace dockdist {

// "rank 3 exited with 7", "the command was ended by signal 11 (Segmentation fault)"; a finding is its own
// text.
std::string failure_text(const wire::JobFailure& failure);
// The same with the node: "node-1: rank 3 exited with 7". A finding names the nodes that it is about.
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
    std::string by{};       // replaced: the node that takes its place
    int left = 0;           // spare: of the spares; else of the nodes
    bool restarts = true;   // stopped: there were some left, but too few nodes
    int attempt = 0;        // replaced, left_out: the one that begins
    std::int64_t in_ms = 0; // the same
};
// "lost: its container was stopped: attempt 2 of 4 begins without it on 3 nodes in 1 s".
std::string loss_text(const Loss& loss, const wire::JobPolicy& policy);
// Why a part has gone, from the reason in its result: "its container was stopped".
std::string leave_text(const std::string& reason);

// "no rank wrote anything for 10 min".
std::string silence_text(const wire::JobPolicy& policy);
// "no rank wrote anything for 10 min (node-1 was the first to fall silent): what each is doing follows".
std::string stall_text(const wire::JobPolicy& policy, const std::string& first_silent);

// Of a launcher that ended with 0 and has started fewer ranks than it was to.
std::string missing_ranks_text(int missing, int wanted);

} // namespace dockdist
