// Supervisor: what its ranks are doing, and why they stand still.
#include "node/job/failure_cause.hpp"
#include "node/job/job_store.hpp"
#include "node/job/part_supervisor.hpp"
#include "node/job/rank_look.hpp"
#include "node/job/tree_look.hpp"
#include "node/system/process_stat.hpp"

#include <unistd.h>

namespace dockdist::node {

void Supervisor::keep_hang(const wire::JobCommand& order) {
    if (order.hang && order.attempt == job_.summary.result.attempt) {
        job_.summary.hang = order.hang->cause.empty() ? std::nullopt : order.hang;
        (void)save_summary(job_.summary);
    }
}

void Supervisor::tell_stacks(std::int64_t pause_ms) {
    const auto answer = followers_.later_answer();
    silence_.look(ranks_.running(), command_done_ ? 0 : command_, job_.account, job_.environment,
                  {.seen = [answer](const wire::RankStack& stack) { answer(wire::rank_stack_line(stack)); },
                   .over = [answer](const wire::RasReport& ras) { answer(wire::stacks_told_line(ras)); }},
                  {.pause_ms = pause_ms});
}

StillWatch::Reading Supervisor::reading() const {
    const auto ranks = ranks_.running();
    const auto all = all_processes();
    std::vector<pid_t> roots{command_};
    std::int64_t runs = 0;
    for (const auto& [rank, shim] : ranks) {
        roots.push_back(shim);
        const auto main = runs_of(rank_process(all, shim));
        runs = main < 0 || runs < 0 ? StillWatch::unknown_runs : runs + main;
    }
    return {.cpu_ms = ticks_of(tree_of(all, roots)) * 1000 / ::sysconf(_SC_CLK_TCK),
            .ranks = ranks.size(),
            .runs = ranks.empty() ? StillWatch::unknown_runs : runs};
}

} // namespace dockdist::node
