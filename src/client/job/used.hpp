// Who used what: what the jobs of a span of time had of the GPUs, by user, job or node. Pure.
//
// What counts. GPU hours are GPUs times the time for which a job had them to itself, from before its start
// (code may go to the nodes meanwhile) to its end, or to now; of a job that reaches beyond the span those
// inside. Load and energy are known as means over a job's whole time: of such a job the same share of them
// counts. Waiting counts where it ended inside the span, a failure where the job did. Spares count as
// `dockdist jobs JOB` has them: hours, and no load. What no node has told is not 0, but missing.
#pragma once

#include "client/job/job_report.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace dockdist {

struct Span { // since 1970
    std::int64_t since_ms = 0;
    std::int64_t until_ms = std::numeric_limits<std::int64_t>::max();
};
// Whether it had anything of a node inside it.
bool is_within(const JobReport& job, const Span& span);

struct Used {
    std::string name{}; // empty: not told
    double gpu_hours = 0;
    double load_hours = 0, idle_hours = 0; // GPU hours whose load was measured; and without load
    double energy_hours = 0, energy_j = 0; // whose power was measured; and its energy
    std::size_t jobs = 0, running = 0, failed = 0;
    std::size_t waits = 0; // jobs whose waiting is known
    std::int64_t waited_ms = 0;
    std::size_t open_ends = 0; // jobs whose end nobody saw: they count until they were last measured
    std::optional<double> idle() const;
    std::optional<double> energy_kwh() const;
    std::optional<std::int64_t> waited() const;
};

enum class UsedBy { user, job, node };
struct UsedTable {
    UsedBy by = UsedBy::user;
    std::vector<Used> groups{};             // most GPU hours first
    Used total{};                           // each job once
    std::optional<std::int64_t> first_ms{}; // when the earliest job on record began, in the span or before
};
Used used_of(const JobReport& job, const Span& span);
UsedTable used_by(UsedBy by, const std::vector<JobReport>& jobs, const Span& span);

// How many GPUs jobs had at a time, in equal steps; by user, the greatest first, where there are few.
struct HeldCurve {
    std::string user{}; // empty: of all
    std::vector<double> gpus{};
};
struct HeldOverTime {
    std::int64_t begin_ms = 0, step_ms = 1;
    std::vector<HeldCurve> curves{};
};
HeldOverTime held_over_time(const std::vector<JobReport>& jobs, const Span& span, std::size_t steps,
                            std::size_t most_users);

} // namespace dockdist
