#include "node/job/pruning.hpp"

#include "node/job/job_store.hpp"
#include "node/job/log/output_log.hpp"
#include "node/system/os.hpp"
#include "node/system/store.hpp"
#include "shared/core/units.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <unistd.h>

namespace dockdist::node {
namespace {

std::string in_days(std::int64_t milliseconds) {
    constexpr std::int64_t day = std::int64_t{24} * 3600 * 1000;
    const auto days = milliseconds / day;
    return days == 0 || milliseconds % day != 0
               ? format_exact_duration(std::chrono::milliseconds(milliseconds))
               : std::to_string(days) + (days == 1 ? " day" : " days");
}

std::vector<KeptJob> jobs_in_store() {
    std::vector<KeptJob> jobs;
    for (const auto& id : job_ids()) {
        const auto summary = load_summary(id);
        KeptJob job{.job = id, .running = is_running(id), .output = output_of(id)};
        // Of a record that cannot be read the file's own time tells.
        job.ended_ms = summary ? summary->started_ms + summary->duration_ms : last_change_ms(id);
        jobs.push_back(std::move(job));
    }
    return jobs;
}

std::string too_old_text(const wire::HistoryLimits& limits) {
    return "the job ended more than " + in_days(limits.logs_for_ms) + " ago (`history.logs_for`)";
}

std::string too_much_text(const wire::HistoryLimits& limits) {
    return "all output on this node was more than " +
           format_size({static_cast<std::uint64_t>(limits.keep_bytes)}) +
           " (`history.keep`), and this was the oldest";
}

} // namespace

Pruning what_goes(std::vector<KeptJob> jobs, const wire::HistoryLimits& limits, std::int64_t now_ms) {
    std::ranges::sort(jobs, std::less{}, &KeptJob::ended_ms);
    std::uint64_t output = 0;
    std::size_t ended = 0;
    for (const auto& job : jobs) {
        output += job.output;
        ended += job.running ? 0 : 1;
    }
    const auto age = [now_ms](const KeptJob& job) { return now_ms - job.ended_ms; };
    Pruning pruning;
    for (const auto& job : jobs) {
        if (job.running) {
            continue;
        }
        const bool nothing_stays = age(job) > limits.for_ms || ended > most_ended_jobs;
        const bool too_old = age(job) > limits.logs_for_ms;
        const bool too_much = output > static_cast<std::uint64_t>(limits.keep_bytes);
        if (nothing_stays) {
            pruning.records.push_back(job.job);
            --ended;
        } else if (job.output > 0 && (too_old || too_much)) {
            pruning.outputs.push_back({job.job, too_old ? too_old_text(limits) : too_much_text(limits)});
        }
        const bool goes = nothing_stays || too_old || too_much;
        output -= goes ? job.output : 0;
    }
    return pruning;
}

std::string shrink_mark(const std::string& job) {
    return job_folder(job) + "/shrink";
}

void prune_store(std::int64_t now_ms) {
    auto jobs = jobs_in_store();
    const auto pruning = what_goes(jobs, load_history_limits(), now_ms);
    for (const auto& job : pruning.records) {
        remove_tree(job_folder(job));
    }
    for (const auto& [job, cause] : pruning.outputs) {
        drop_output(job_folder(job), cause);
    }
    std::ranges::sort(jobs, std::less{}, &KeptJob::ended_ms);
    for (const auto& job : jobs) {
        if (!job.running && disk_is_nearly_full()) {
            drop_output(job_folder(job.job), "less than 5 % of this host's disk was free");
        }
    }
    if (!disk_is_nearly_full()) {
        return;
    }
    for (const auto& job : jobs) {
        if (job.running) {
            (void)replace_file(shrink_mark(job.job), "", 0600, {::geteuid(), ::getegid()});
        }
    }
}

} // namespace dockdist::node
