// Which failure is the job's: the first one that is heard, but for those that only follow from another.
#include "shared/job_state/job_state_machine.hpp"
#include "shared/job_state/job_text.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace dockdist {
namespace {

// It has failed since its peer was gone, as gloo and NCCL say it.
bool is_consequence(const wire::JobFailure& failure) {
    constexpr std::array gloo{"Connection closed by peer", "Connection reset by peer", "Broken pipe"};
    constexpr std::array nccl{"ncclRemoteError", "remote process exited"};
    const auto says = [&](const char* words) { return failure.tail.find(words) != std::string::npos; };
    return (says("gloo") && std::ranges::any_of(gloo, says)) || std::ranges::any_of(nccl, says);
}

// An exception of Python's that no signal has brought about: whoever is told to end may have one, too.
bool is_of_its_own(const wire::JobFailure& failure) {
    constexpr std::array told{"KeyboardInterrupt", "SystemExit", "SIGTERM", "SignalException",
                              "killed by signal: Terminated"};
    const auto says = [&](const char* words) { return failure.tail.find(words) != std::string::npos; };
    return failure.code != 0 && says("Traceback (most recent call last)") && std::ranges::none_of(told, says);
}

// What is behind a consequence, where a rank had ended with 0 before: that one's failure, with the code and
// the last lines of the one that it brought about.
wire::JobFailure left_early(const std::string& node, int rank, wire::JobFailure consequence) {
    auto failure = std::move(consequence);
    failure.finding = "rank " + std::to_string(rank) + " on " + node +
                      " had ended with exit code 0 while others waited for it: " + located_text(failure);
    failure.advice = "all ranks must take equally many steps: one that gets less data ends early (in torch, "
                     "drop_last of DistributedSampler, or Join)";
    failure.node = node;
    failure.rank = rank;
    failure.local_rank = -1;
    return failure;
}

} // namespace

bool explains(const wire::JobFailure& rank, const wire::JobFailure& other) {
    const bool was_told = rank.signal == SIGTERM || (rank.signal == SIGKILL && !rank.oom);
    const bool overtaken =
        is_consequence(other) && !is_consequence(rank) && (rank.signal != 0 || is_of_its_own(rank));
    return rank.rank >= 0 && !was_told && (other.rank < 0 || overtaken);
}

const wire::JobFailure& first_of(const std::vector<wire::JobFailure>& failures) {
    const auto* first = &failures.front();
    for (const auto& failure : failures) {
        first = explains(failure, *first) ? &failure : first;
    }
    return *first;
}

void JobStateMachine::rank_done(std::size_t part, int attempt, int rank) {
    if (speaks_of_now(attempt) && !first_done_) {
        first_done_ = {.part = part, .rank = rank};
    }
}

void JobStateMachine::fail(std::size_t part, wire::JobFailure failure) {
    const bool counts = failure_ ? explains(failure, *failure_)
                                 : interrupts_ == 0 && (phase_ == Phase::running || phase_ == Phase::over);
    if (!counts) {
        return;
    }
    failure.node = settings_.parts[part].node;
    const bool follows = first_done_ && failure.rank >= 0 && is_consequence(failure);
    failure_ = follows ? left_early(settings_.parts[first_done_->part].node, first_done_->rank, failure)
                       : std::move(failure);
}

} // namespace dockdist
