#include "shared/wire/gpus.hpp"

#include "shared/wire/fields.hpp"

#include <algorithm>

namespace dockdist::wire {

using nlohmann::json;

namespace {

using State = GpuTurn::State;
constexpr Words<State, 4> state_words{
    {{State::none, "none"}, {State::taken, "taken"}, {State::fits, "fits"}, {State::waits, "waits"}}};

constexpr std::size_t most_items = 4096;        // of a list: units of a host, waiters
constexpr std::size_t longest_party_name = 512; // far beyond any that is true, USER@MACHINE too

// What is longer is cut, between characters: it may stand in what all jobs of a host read, who have to go on.
void read_name(ObjectReader& reader, const char* key, std::string& name) {
    reader.read(key, name);
    auto end = std::min(name.size(), longest_party_name);
    while (end > 0 && end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    name.resize(end);
}

void read_share(ObjectReader& reader, GpuAsk& ask) {
    reader.read("share", ask.share);
    ask.share = ask.share && !ask.look;
}

} // namespace

void fields_of(auto& fields, Of<GpuUnit> auto& unit) {
    fields.required("id", unit.id);
    fields("index", unit.index, 0, any_int);
    fields("name", read_by(unit.name, read_name));
}
DEFINE_BY_FIELDS(GpuUnit)

void fields_of(auto& fields, Of<GpuParty> auto& party) {
    fields("cluster", read_by(party.cluster, read_name));
    fields("node", read_by(party.node, read_name));
    fields("job", read_by(party.job, read_name));
    fields("owner", read_by(party.owner, read_name));
    fields("age_s", party.age_s, 0, any_count);
    fields.omit_empty("left_s", party.left_s, 0, any_count);
}
DEFINE_BY_FIELDS(GpuParty)

void fields_of(auto& fields, Of<GpuHold> auto& hold) {
    fields("unit", hold.unit);
    fields("by", hold.by);
    fields("outside", hold.outside);
}

void to_json(json& out, const GpuHold& hold) {
    out = listed_object(hold);
}

void fields_of(auto& fields, Of<GpuAsk> auto& ask) {
    fields.omit_empty("look", ask.look);
    // An older node takes a look for a share.
    fields.writing([&](auto& out) { out["share"] = ask.share || ask.look; });
    fields.reading([&](auto& reader) { read_share(reader, ask); });
    fields("count", ask.count, all_units, any_int);
    fields("priority", ask.priority, -max_priority, max_priority);
    fields("number", ask.number, 0, any_count);
    fields("in_use_mib", ask.in_use_mib, 0, any_count);
    fields("taken", ask.taken, most_items);
}
DEFINE_BY_FIELDS(GpuAsk)

void fields_of(auto& fields, Of<GpuWaiter> auto& waiter) {
    fields("who", waiter.who);
    fields("wanted", waiter.wanted, 0, any_int);
    fields("priority", waiter.priority, -max_priority, max_priority);
}

void fields_of(auto& fields, Of<GpuTurn> auto& turn) {
    fields.required("state", named(turn.state, state_words));
    fields("order", turn.order, 0, any_count);
    fields("number", turn.number, 0, any_count);
    fields("units", turn.units, most_items);
    fields("together", turn.together);
    fields("wanted", turn.wanted, 0, any_int);
    fields("place", turn.place, 0, any_int);
    fields("held", turn.held, most_items);
    fields("ahead", turn.ahead, most_items);
    fields("left_out", turn.left_out);
    fields.omit_empty("looks", turn.looks);
    fields.when(turn.looks, "could", bytes_of(turn.could));
    fields.when(turn.looks, "free", bytes_of(turn.free));
}
DEFINE_BY_FIELDS(GpuTurn)

void fields_of(auto& fields, Of<GpuFacts> auto& facts) {
    fields("unit", facts.unit);
    fields("memory_used_mib", facts.memory_used_mib);
    fields("memory_total_mib", facts.memory_total_mib);
    fields("utilization_percent", facts.utilization_percent);
    fields("temperature_c", facts.temperature_c);
    fields("power_w", facts.power_w);
    fields("problem", facts.problem);
    fields("hold", facts.hold);
}

void fields_of(auto& fields, Of<GpuReport> auto& report) {
    fields("driver", report.driver);
    fields("units", report.units, most_items);
    fields("line", report.line, most_items);
    fields("topology", report.topology);
    fields("problem", report.problem);
}

std::string gpu_report_line(const GpuReport& report) {
    return line_of(report);
}

Result<GpuReport> parse_gpu_report(std::string_view line) {
    return parse<GpuReport>(line, "the report of the GPUs");
}

} // namespace dockdist::wire
