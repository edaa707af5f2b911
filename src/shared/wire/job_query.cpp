#include "shared/wire/job_query.hpp"

#include "shared/wire/job_result.hpp"

namespace dockdist::wire {

void fields_of(auto& fields, Of<JobQuery> auto& query) {
    fields.required("job", query.job);
    fields("position", query.position, 0, any_count);
    fields("to_the_end", query.to_the_end);
    fields("output", query.output);
    fields("rank", query.rank);
    fields("tail", query.tail, 0, longest_tail);
    fields("since_ms", query.since_ms, 0, any_count);
    fields("grace_ms", query.grace_ms, 0, any_count);
    fields.when(query.signal != 0, "signal", signal_of(query.signal));
    fields.check(is_job_id(query.job), "\"job\" must be a job's name");
}

std::string job_query(const JobQuery& query) {
    return text_of(query);
}

Result<JobQuery> parse_job_query(std::string_view text) {
    return parse<JobQuery>(text, "the argument");
}

} // namespace dockdist::wire
