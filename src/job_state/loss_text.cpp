#include "job_state/job_state_machine.hpp"

#include <array>
#include <cstdio>

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

} // namespace

std::string words_of(const JobStateMachine::Loss& loss, const wire::JobPolicy& settings) {
    using Then = JobStateMachine::Loss::Then;
    const auto attempt =
        "attempt " + std::to_string(loss.attempt + 1) + " of " + std::to_string(settings.max_restarts + 1);
    switch (loss.then) {
    case Then::replaced:
        return attempt + " begins with " + loss.by + " in its place in " + seconds(loss.in_ms);
    case Then::left_out:
        return attempt + " begins without it on " + nodes(loss.left) + " in " + seconds(loss.in_ms);
    case Then::spare:
        return "it was spare, the job goes on; spare nodes left: " + std::to_string(loss.left);
    case Then::stopped:
        break;
    }
    return "the job is stopped everywhere: " +
           (loss.restarts
                ? nodes(loss.left) + (loss.left == 1 ? " is" : " are") + " left, and it needs " +
                      std::to_string(settings.min_nodes)
                : "no restart is left (--max-restarts " + std::to_string(settings.max_restarts) + ")");
}

} // namespace dockdist
