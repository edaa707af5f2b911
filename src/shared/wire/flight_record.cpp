#include "shared/wire/flight_record.hpp"

#include "shared/wire/frame.hpp"
#include "shared/wire/json_reader.hpp"

#include <limits>

namespace dockdist::wire {
namespace {

constexpr std::int64_t most_count = std::numeric_limits<std::int64_t>::max();

nlohmann::json entry_object(const FlightEntry& entry) {
    return {{"record", entry.record},     {"sequence", entry.sequence}, {"p2p", entry.p2p},
            {"name", entry.name},         {"state", entry.state},       {"sizes", entry.sizes},
            {"elements", entry.elements}, {"waits_ms", entry.waits_ms}, {"frame", frame_object(entry.frame)}};
}

void read_entry(ObjectReader& reader, FlightEntry& entry) {
    reader.read("record", entry.record, 0, most_count);
    reader.read("sequence", entry.sequence, 0, most_count);
    reader.read("p2p", entry.p2p);
    reader.read("name", entry.name, longest_stack_word);
    reader.read("state", entry.state, longest_stack_word);
    reader.read("sizes", entry.sizes, longest_stack_word);
    reader.read("elements", entry.elements, 0, most_count);
    reader.read("waits_ms", entry.waits_ms, 0, most_count);
    read_object(reader, "frame", [&](ObjectReader& nested) { read_frame(nested, entry.frame); });
}

void read_ranks(ObjectReader& reader, std::vector<int>& ranks) {
    const auto* const numbers = reader.array("ranks");
    if (numbers == nullptr) {
        return;
    }
    for (const auto& number : *numbers) {
        if (!number.is_number_integer() || ranks.size() == most_flight_ranks ||
            number.get<std::int64_t>() < 0 || number.get<std::int64_t>() > max_rank) {
            return reader.fail("\"ranks\" are not ranks");
        }
        ranks.push_back(number.get<int>());
    }
}

void read_group(ObjectReader& reader, FlightGroup& group) {
    reader.read("name", group.name, longest_stack_word);
    reader.read("description", group.description, longest_stack_word);
    read_ranks(reader, group.ranks);
    reader.read("enqueued", group.enqueued, no_collective, most_count);
    reader.read("completed", group.completed, no_collective, most_count);
    read_object(reader, "first", [&](ObjectReader& nested) {
        group.waits = true;
        read_entry(nested, group.first);
    });
}

} // namespace

nlohmann::json flight_object(const FlightRecord& record) {
    auto groups = nlohmann::json::array();
    for (const auto& group : record.groups) {
        auto& object = groups.emplace_back(nlohmann::json{{"name", group.name},
                                                          {"description", group.description},
                                                          {"ranks", group.ranks},
                                                          {"enqueued", group.enqueued},
                                                          {"completed", group.completed}});
        if (group.waits) {
            object["first"] = entry_object(group.first);
        }
    }
    return {{"problem", record.problem},
            {"silent", record.silent},
            {"version", record.version},
            {"groups", std::move(groups)}};
}

void read_flight(ObjectReader& reader, FlightRecord& record) {
    reader.read("problem", record.problem, longest_stack_word);
    reader.read("silent", record.silent);
    reader.read("version", record.version, longest_stack_word);
    read_objects(reader, "groups", [&](ObjectReader& nested) {
        if (record.groups.size() == most_flight_groups) {
            return nested.fail("too many groups");
        }
        read_group(nested, record.groups.emplace_back());
    });
}

} // namespace dockdist::wire
