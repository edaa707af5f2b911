#include "shared/wire/job_query.hpp"

#include "shared/wire/job_result.hpp"
#include "shared/wire/json_reader.hpp"

namespace dockdist::wire {

std::string job_query(const JobQuery& query) {
    nlohmann::json json{{"job", query.job},
                        {"position", query.position},
                        {"to_the_end", query.to_the_end},
                        {"output", query.output},
                        {"grace_ms", query.grace_ms}};
    write_signal(json, query.signal, 0);
    if (query.rank) {
        json["rank"] = *query.rank;
    }
    if (query.tail) {
        json["tail"] = *query.tail;
    }
    if (query.since_ms) {
        json["since_ms"] = *query.since_ms;
    }
    return dump(json);
}

Result<JobQuery> parse_job_query(std::string_view text) {
    const auto object = parse_object(text, "the argument");
    TRY(object);
    JobQuery query;
    ObjectReader reader(*object, "the argument");
    std::int64_t position = 0;
    std::int64_t number = 0;
    reader.require("job");
    reader.read("job", query.job);
    reader.read("position", position);
    reader.read("to_the_end", query.to_the_end);
    reader.read("output", query.output);
    reader.read("grace_ms", query.grace_ms);
    read_signal(reader, query.signal);
    if (object->contains("rank")) {
        int rank = 0;
        reader.read("rank", rank);
        query.rank = rank;
    }
    for (auto* field : {&query.tail, &query.since_ms}) {
        const auto* key = field == &query.tail ? "tail" : "since_ms";
        if (object->contains(key)) {
            reader.read(key, number);
            *field = number;
        }
    }
    if (!reader.failed() && (!is_job_id(query.job) || position < 0 || query.grace_ms < 0)) {
        reader.fail("\"job\" must be a job's name, \"position\" and \"grace_ms\" not negative");
    }
    if (!reader.failed() && ((query.tail && (*query.tail < 0 || *query.tail > longest_tail)) ||
                             (query.since_ms && *query.since_ms < 0))) {
        reader.fail("\"tail\" must be 0 to " + std::to_string(longest_tail) + ", \"since_ms\" not negative");
    }
    if (reader.failed()) {
        return reader.error();
    }
    query.position = static_cast<std::uint64_t>(position);
    return query;
}

} // namespace dockdist::wire
