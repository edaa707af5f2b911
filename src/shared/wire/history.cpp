#include "shared/wire/history.hpp"

#include "shared/wire/job.hpp"
#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <limits>

namespace dockdist::wire {
namespace {

constexpr auto largest_limit =
    std::numeric_limits<std::int64_t>::max() / 4; // a moment plus one is a moment still

} // namespace

void to_json(nlohmann::json& json, const HistoryLimits& limits) {
    json = {
        {"keep_bytes", limits.keep_bytes}, {"for_ms", limits.for_ms}, {"logs_for_ms", limits.logs_for_ms}};
}

void read_history_limits(ObjectReader& reader, HistoryLimits& limits) {
    reader.read("keep_bytes", limits.keep_bytes, 0, largest_limit);
    reader.read("for_ms", limits.for_ms, 0, largest_limit);
    reader.read("logs_for_ms", limits.logs_for_ms, 0, largest_limit);
}

std::string to_text(const KeptHistory& kept) {
    return dump(nlohmann::json{{"bytes", kept.bytes}, {"jobs", kept.jobs}}) + "\n";
}

Result<KeptHistory> parse_kept_history(std::string_view text) {
    const auto object = parse_object(text.substr(0, text.find('\n')), "what a node keeps of its jobs");
    TRY(object);
    KeptHistory kept;
    ObjectReader reader(*object, "what a node keeps of its jobs");
    reader.require("jobs");
    reader.read("bytes", kept.bytes, 0, largest_limit);
    reader.read_bytes("jobs", kept.jobs);
    if (!std::ranges::all_of(kept.jobs, [](const std::string& job) { return is_job_id(job); })) {
        reader.fail("\"jobs\" holds what is no job's name");
    }
    if (reader.failed()) {
        return reader.error();
    }
    return kept;
}

} // namespace dockdist::wire
