// The argument of `dockdist-init job follow` and `job stop`.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/job.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist::wire {

struct JobQuery {
    std::string job{};

    // follow
    std::uint64_t position = 0; // where a frame begins, or the log ends
    bool to_the_end = true;     // of the job; false: of what is there now
    bool output = true;         // false: the control frames alone
    std::optional<int> rank{};  // of output: this rank's alone
    // Of what was written before: the last so many lines of each rank, and what is not older than so much, by
    // the node's own clock. The node then says with a pong where it begins.
    std::optional<std::int64_t> tail{};
    std::optional<std::int64_t> since_ms{};

    // stop
    std::int64_t grace_ms = default_grace.count();
    int signal = 0; // 0: as the job's opening says
};

inline constexpr std::int64_t longest_tail = 100'000;

std::string job_query(const JobQuery& query);
Result<JobQuery> parse_job_query(std::string_view text);

} // namespace dockdist::wire
