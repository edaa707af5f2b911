// Nodes that say anything of their parts of a job, in any order: whoever decides for the job keeps to its
// policy.
#include "fuzz/fuzz.hpp"
#include "shared/job_state/job_end.hpp"
#include "shared/job_state/job_state_machine.hpp"

#include <array>

namespace {

using namespace dockdist;

wire::JobPolicy policy_from(fuzz::Choices& choices) {
    wire::JobPolicy policy{
        .max_restarts = static_cast<int>(choices.below(4)), .backoff_ms = 10, .grace_ms = 10};
    const auto parts = 1 + choices.below(4);
    for (std::size_t i = 0; i < parts; ++i) {
        policy.parts.push_back({.node = "node-" + std::to_string(i),
                                .hosts_remote_ranks = choices.below(2) == 1,
                                .ranks = static_cast<int>(choices.below(3))});
    }
    policy.stall_ms = choices.below(2) == 1 ? 50 : 0;
    policy.stop_stalled = choices.below(2) == 1;
    if (choices.below(2) == 1) {
        policy.relaunch = "{}";
        policy.min_nodes = static_cast<int>(choices.below(3));
        if (parts > 1 && choices.below(2) == 1) { // the last one is a spare
            for (std::size_t i = 0; i + 1 < parts; ++i) {
                policy.members.push_back(static_cast<int>(i));
            }
        }
    }
    return policy;
}

std::string text_from(fuzz::Choices& choices) {
    return std::string(choices.text().substr(0, 40));
}

// As it may stand in a message: what wire::parse_job_event refuses does not get here.
wire::JobEvent event_from(fuzz::Choices& choices) {
    using Type = wire::JobEvent::Type;
    static constexpr std::array<Type, 11> types{
        Type::prepared, Type::started,  Type::rank_failed, Type::silent,     Type::speaks, Type::reported,
        Type::ended,    Type::detached, Type::exited,      Type::ranks_gone, Type::error};
    static constexpr std::array<int, 6> numbers{0, 1, 7, 139, -1, 2'000'000'000};
    static constexpr std::array<const char*, 7> reasons{"",     "stop",     "lease",  "timeout",
                                                        "lost", "shutdown", "\x1b[2J"};
    wire::JobEvent event{.type = types.at(choices.below(types.size())),
                         .attempt = numbers.at(choices.below(numbers.size()))};
    event.failure = {.rank = numbers.at(choices.below(numbers.size())),
                     .code = numbers.at(choices.below(numbers.size())),
                     .signal = static_cast<int>(choices.below(70)),
                     .tail = text_from(choices)};
    event.result = {.code = numbers.at(choices.below(numbers.size())),
                    .ranks = numbers.at(choices.below(numbers.size())),
                    .stopped = choices.below(2) == 1,
                    .reason = reasons.at(choices.below(reasons.size())),
                    .attempt = event.attempt};
    if (choices.below(2) == 1) {
        event.result.failures.push_back(event.failure);
    }
    const auto line = wire::job_event(event);
    const auto read = wire::parse_job_event(line);
    return read ? *read : wire::JobEvent{.type = Type::silent};
}

} // namespace

void fuzz::one_input(std::string_view input) {
    Choices choices(input);
    const auto policy = policy_from(choices);
    JobStateMachine job(policy, [](const wire::JobPolicy& now) -> Result<std::vector<wire::JobStart>> {
        return std::vector<wire::JobStart>(now.parts.size(),
                                           {.policy = now}); // as shared/launch/relaunch.hpp does
    });
    std::int64_t now = 0;
    int begun = 0;
    bool stopped = false;
    while (!choices.empty()) {
        const auto part = choices.below(policy.parts.size());
        switch (choices.below(10)) {
        case 0:
            (void)job.lost(part, "lost: " + text_from(choices),
                           choices.below(2) == 1 ? std::optional(now) : std::nullopt);
            break;
        case 1:
            job.interrupted();
            stopped = true;
            break;
        case 2:
            job.exited(part, event_from(choices).result);
            break;
        case 3:
            now = std::max(now, job.wake_at_ms().value_or(now));
            break;
        default:
            job.hear(part, event_from(choices));
        }
        now += static_cast<std::int64_t>(choices.below(30));
        const auto orders = job.decide(now);
        require(orders.size() <= 4 * policy.parts.size(), "orders are few");
        bool begins = false;
        for (const auto& order : orders) {
            require(order.part < policy.parts.size(), "an order goes to a part of the job");
            begins = begins || order.command.type == wire::JobCommand::Type::begin;
        }
        require(!begins || !stopped, "a job that is interrupted is not begun again");
        require(!begins || job.may_run(now), "no attempt begins beside ranks that a silent part may have");
        begun += begins ? 1 : 0;
        require(begun <= policy.max_restarts + static_cast<int>(policy.parts.size()),
                "a job is begun anew as often as its policy says");
        require(job.missing_ranks() >= 0, "no rank is more than missing");
        for (const auto& notice : job.take_notices()) {
            require(notice.text.size() < 4096, "what is told is bounded");
        }
    }
}

std::vector<std::string> fuzz::seeds() {
    std::vector<std::string> all;
    for (char restarts = 0; restarts < 4; ++restarts) {
        for (char parts = 0; parts < 4; ++parts) {
            std::string input{restarts, parts, 0, 1, 0, 2, 1, 0, 0, 1, 0, 1, 1, 1, 0};
            for (char type = 0; type < 10; ++type) {
                input +=
                    std::string{static_cast<char>(type % (parts + 1)), 9, type, 0, 1, 2, 11, 1, 'x', 2, 1, 0,
                                static_cast<char>(type % 7),           1, 5};
            }
            all.push_back(input);
        }
    }
    return all;
}
