#include "shared/wire/succession.hpp"

#include "shared/wire/job_result.hpp"

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr std::int64_t latest_term = std::int64_t{1} << 53; // exact in every JSON reader
constexpr int latest_attempt = 1'000'000'000;               // one more is a number, too
constexpr std::string_view pong_head = R"({"type":"pong")";

json version_array(const JobRecord::Version& version) {
    return json::array({version.term, version.revision});
}

void read_version_array(ObjectReader& reader, const char* key, JobRecord::Version& version) {
    const auto* const pair = reader.array(key);
    if (pair == nullptr) {
        return;
    }
    const auto is_number = [](const json& number) {
        return number.is_number_integer() && number >= 0 && number <= latest_term;
    };
    if (pair->size() != 2 || !is_number((*pair)[0]) || !is_number((*pair)[1])) {
        return reader.fail("\"version\" must be two numbers");
    }
    version = {(*pair)[0].get<std::int64_t>(), (*pair)[1].get<std::int64_t>()};
}

void check_record(ObjectReader& reader, const std::optional<JobRecord>& record, std::size_t parts) {
    if (!record) {
        return;
    }
    if (record->policy.parts.size() != parts) {
        return reader.fail("the \"policy\" of \"record\" is of a job with other parts");
    }
    for (const auto part : record->leaving) {
        if (static_cast<std::size_t>(part) >= parts) {
            return reader.fail("\"leaving\" names a part that there is not");
        }
    }
}

} // namespace

void fields_of(auto& fields, Of<JobRecord> auto& record) {
    fields("version", by(record.version, version_array, read_version_array));
    fields("attempt", record.attempt, 0, latest_attempt);
    fields("policy", record.policy);
    fields("leaving", record.leaving, 0, any_int, "parts");
}

void fields_of(auto& fields, Of<LinkGreeting> auto& greeting) {
    fields.required("part", greeting.part, 0, any_int);
    fields("term", greeting.term, 0, latest_term);
}

void fields_of(auto& fields, Of<LinkPing> auto& ping) {
    fields.constant("type", "ping");
    fields.required("term", ping.term, 0, latest_term);
    fields("number", ping.number);
    fields.omit_empty("leads", ping.leads);
    fields.omit_empty("resigns", ping.resigns);
    fields.omit_empty("wants_record", ping.wants_record);
    fields("record", ping.record);
}

void fields_of(auto& fields, Of<LinkPong> auto& pong) {
    fields.required("term", pong.term, 0, latest_term);
    fields("number", pong.number);
    fields("leads", pong.leads);
    fields("attempt", pong.attempt, 0, latest_attempt);
    fields("version", by(pong.version, version_array, read_version_array));
    fields("record", pong.record);
}

std::string link_greeting(const LinkGreeting& greeting) {
    return line_of(greeting);
}

Result<LinkGreeting> parse_link_greeting(std::string_view line, std::size_t parts) {
    return parse<LinkGreeting>(line, "a member's greeting",
                               [parts](ObjectReader& reader, const LinkGreeting& greeting) {
                                   if (greeting.part >= parts) {
                                       reader.fail("\"part\" is none of the job's");
                                   }
                               });
}

std::string link_ping(const LinkPing& ping) {
    return line_of(ping);
}

Result<LinkPing> parse_link_ping(std::string_view line, std::size_t parts) {
    return parse<LinkPing>(line, "a coordinator's ping", [parts](ObjectReader& reader, const LinkPing& ping) {
        check_record(reader, ping.record, parts);
    });
}

std::string link_pong(const LinkPong& pong) {
    return std::string(pong_head) + "," + line_of(pong).substr(1);
}

bool is_link_pong(std::string_view line) {
    return line.starts_with(pong_head);
}

Result<LinkPong> parse_link_pong(std::string_view line, std::size_t parts) {
    return parse<LinkPong>(line, "a member's pong", [parts](ObjectReader& reader, const LinkPong& pong) {
        check_record(reader, pong.record, parts);
    });
}

} // namespace dockdist::wire
