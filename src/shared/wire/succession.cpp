#include "shared/wire/succession.hpp"

#include "shared/wire/job_result.hpp"
#include "shared/wire/json_reader.hpp"

namespace dockdist::wire {
namespace {

using nlohmann::json;

constexpr std::int64_t latest_term = std::int64_t{1} << 53; // exact in every JSON reader
constexpr int latest_attempt = 1'000'000'000;               // one more is a number, too
constexpr std::string_view pong_head = R"({"type":"pong")";

json version_array(const JobRecord::Version& version) {
    return json::array({version.term, version.revision});
}

void read_version(ObjectReader& reader, JobRecord::Version& version) {
    const auto* const pair = reader.array("version");
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

json record_object(const JobRecord& record) {
    return {{"version", version_array(record.version)},
            {"attempt", record.attempt},
            {"leaving", record.leaving},
            {"policy", record.policy}};
}

void read_record(ObjectReader& reader, std::optional<JobRecord>& record, std::size_t parts) {
    read_object(reader, "record", [&](ObjectReader& object) {
        auto& read = record.emplace();
        read_version(object, read.version);
        object.read("attempt", read.attempt, 0, latest_attempt);
        read_policy(object, read.policy);
        if (read.policy.parts.size() != parts) {
            return object.fail("\"policy\" is of a job with other parts");
        }
        if (const auto* leaving = object.array("leaving")) {
            for (const auto& part : *leaving) {
                if (!part.is_number_integer() || part < 0 || part >= parts) {
                    return object.fail("\"leaving\" names a part that there is not");
                }
                read.leaving.push_back(part.get<int>());
            }
        }
    });
}

} // namespace

std::string link_greeting(const LinkGreeting& greeting) {
    return dump({{"part", greeting.part}, {"term", greeting.term}}) + "\n";
}

Result<LinkGreeting> parse_link_greeting(std::string_view line, std::size_t parts) {
    const auto object = parse_object(line, "a member's greeting");
    TRY(object);
    ObjectReader reader(*object, "a member's greeting");
    LinkGreeting greeting;
    int part = 0;
    reader.require("part");
    reader.read("part", part, 0, static_cast<int>(parts) - 1);
    reader.read("term", greeting.term, 0, latest_term);
    if (reader.failed()) {
        return reader.error();
    }
    greeting.part = static_cast<std::size_t>(part);
    return greeting;
}

std::string link_ping(const LinkPing& ping) {
    json object{{"type", "ping"}, {"term", ping.term}, {"number", ping.number}};
    const auto flag = [&](const char* key, bool is_so) {
        if (is_so) {
            object[key] = true;
        }
    };
    flag("leads", ping.leads);
    flag("resigns", ping.resigns);
    flag("wants_record", ping.wants_record);
    if (ping.record) {
        object["record"] = record_object(*ping.record);
    }
    return dump(object) + "\n";
}

Result<LinkPing> parse_link_ping(std::string_view line, std::size_t parts) {
    const auto object = parse_object(line, "a coordinator's ping");
    TRY(object);
    ObjectReader reader(*object, "a coordinator's ping");
    LinkPing ping;
    reader.require("term");
    reader.read("term", ping.term, 0, latest_term);
    reader.read("number", ping.number);
    reader.read("leads", ping.leads);
    reader.read("resigns", ping.resigns);
    reader.read("wants_record", ping.wants_record);
    read_record(reader, ping.record, parts);
    if (reader.failed()) {
        return reader.error();
    }
    return ping;
}

std::string link_pong(const LinkPong& pong) {
    json object{{"term", pong.term},
                {"number", pong.number},
                {"leads", pong.leads},
                {"attempt", pong.attempt},
                {"version", version_array(pong.version)}};
    if (pong.record) {
        object["record"] = record_object(*pong.record);
    }
    return std::string(pong_head) + "," + dump(object).substr(1) + "\n";
}

bool is_link_pong(std::string_view line) {
    return line.starts_with(pong_head);
}

Result<LinkPong> parse_link_pong(std::string_view line, std::size_t parts) {
    const auto object = parse_object(line, "a member's pong");
    TRY(object);
    ObjectReader reader(*object, "a member's pong");
    LinkPong pong;
    reader.require("term");
    reader.read("term", pong.term, 0, latest_term);
    reader.read("number", pong.number);
    reader.read("leads", pong.leads);
    reader.read("attempt", pong.attempt, 0, latest_attempt);
    read_version(reader, pong.version);
    read_record(reader, pong.record, parts);
    if (reader.failed()) {
        return reader.error();
    }
    return pong;
}

} // namespace dockdist::wire
