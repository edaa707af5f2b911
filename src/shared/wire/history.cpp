#include "shared/wire/history.hpp"

#include "shared/wire/fields.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>

namespace dockdist::wire {
namespace {

constexpr auto largest_limit = any_count / 4; // a moment plus one is a moment still

} // namespace

void fields_of(auto& fields, Of<HistoryLimits> auto& limits) {
    fields("keep_bytes", limits.keep_bytes, 0, largest_limit);
    fields("for_ms", limits.for_ms, 0, largest_limit);
    fields("logs_for_ms", limits.logs_for_ms, 0, largest_limit);
}

void to_json(nlohmann::json& json, const HistoryLimits& limits) {
    json = listed_object(limits);
}

void read_history_limits(ObjectReader& reader, HistoryLimits& limits) {
    read_listed(reader, limits);
}

void fields_of(auto& fields, Of<KeptHistory> auto& kept) {
    fields("bytes", kept.bytes, 0, largest_limit);
    fields.required("jobs", kept.jobs);
    fields.check(std::ranges::all_of(kept.jobs, is_job_id), "\"jobs\" holds what is no job's name");
}

std::string to_text(const KeptHistory& kept) {
    return line_of(kept);
}

Result<KeptHistory> parse_kept_history(std::string_view text) {
    return parse<KeptHistory>(text.substr(0, text.find('\n')), "what a node keeps of its jobs");
}

} // namespace dockdist::wire
