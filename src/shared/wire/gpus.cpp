#include "shared/wire/gpus.hpp"

#include "shared/wire/json_reader.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace dockdist::wire {

using nlohmann::json;

namespace {

using State = GpuTurn::State;
constexpr std::array<std::pair<State, const char*>, 4> states{
    {{State::none, "none"}, {State::taken, "taken"}, {State::fits, "fits"}, {State::waits, "waits"}}};

constexpr std::size_t most_items = 4096;        // of a list: units of a host, waiters
constexpr std::size_t longest_party_name = 512; // far beyond any that is true, USER@MACHINE too

using GpuFigure = std::optional<double> GpuFacts::*;
constexpr std::array<std::pair<const char*, GpuFigure>, 5> figures{
    {{"memory_used_mib", &GpuFacts::memory_used_mib},
     {"memory_total_mib", &GpuFacts::memory_total_mib},
     {"utilization_percent", &GpuFacts::utilization_percent},
     {"temperature_c", &GpuFacts::temperature_c},
     {"power_w", &GpuFacts::power_w}}};

json waiter_object(const GpuWaiter& waiter) {
    return {{"who", waiter.who}, {"wanted", waiter.wanted}, {"priority", waiter.priority}};
}

json facts_object(const GpuFacts& facts) {
    json object{{"unit", facts.unit}, {"problem", facts.problem}};
    for (const auto& [key, member] : figures) {
        if (facts.*member) {
            object[key] = *(facts.*member);
        }
    }
    if (facts.hold) {
        object["hold"] = *facts.hold;
    }
    return object;
}

void read_fields(ObjectReader& reader, GpuHold& hold) {
    read_object(reader, "unit", [&](ObjectReader& unit) { read_fields(unit, hold.unit); });
    read_object(reader, "by", [&](ObjectReader& by) { read_fields(by, hold.by); });
    reader.read("outside", hold.outside);
}

// What is longer is cut, between characters: it may stand in what all jobs of a host read, who have to go on.
void read_name(ObjectReader& reader, const char* key, std::string& name) {
    reader.read(key, name);
    auto end = std::min(name.size(), longest_party_name);
    while (end > 0 && end < name.size() && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) {
        --end;
    }
    name.resize(end);
}

void read_figure(ObjectReader& reader, const char* key, std::optional<double>& figure) {
    if (double value = 0; reader.any(key) != nullptr) {
        reader.read(key, value);
        figure = value;
    }
}

void read_fields(ObjectReader& reader, GpuFacts& facts) {
    read_object(reader, "unit", [&](ObjectReader& unit) { read_fields(unit, facts.unit); });
    for (const auto& [key, member] : figures) {
        read_figure(reader, key, facts.*member);
    }
    reader.read("problem", facts.problem);
    read_object(reader, "hold", [&](ObjectReader& hold) { read_fields(hold, facts.hold.emplace()); });
}

void read_fields(ObjectReader& reader, GpuWaiter& waiter) {
    read_object(reader, "who", [&](ObjectReader& who) { read_fields(who, waiter.who); });
    reader.read("wanted", waiter.wanted, 0, std::numeric_limits<int>::max());
    reader.read("priority", waiter.priority, -max_priority, max_priority);
}

template <class Item>
void read_list(ObjectReader& reader, const char* key, std::vector<Item>& items) {
    read_objects(reader, key, [&](ObjectReader& item) {
        if (items.size() == most_items) {
            return item.fail(std::string("\"") + key + "\" is too long");
        }
        read_fields(item, items.emplace_back());
    });
}

} // namespace

void to_json(json& out, const GpuAsk& ask) {
    out = json{{"share", ask.share || ask.look}, {"count", ask.count},           {"priority", ask.priority},
               {"number", ask.number},           {"in_use_mib", ask.in_use_mib}, {"taken", ask.taken}};
    if (ask.look) {
        out["look"] = true;
    }
}

void to_json(json& out, const GpuUnit& unit) {
    out = json{{"id", unit.id}, {"index", unit.index}, {"name", unit.name}};
}

void to_json(json& out, const GpuParty& party) {
    out = json{{"cluster", party.cluster},
               {"node", party.node},
               {"job", party.job},
               {"owner", party.owner},
               {"age_s", party.age_s}};
    if (party.left_s > 0) {
        out["left_s"] = party.left_s;
    }
}

void to_json(json& out, const GpuHold& hold) {
    out = json{{"unit", hold.unit}, {"by", hold.by}, {"outside", hold.outside}};
}

void to_json(json& out, const GpuTurn& turn) {
    out =
        json{{"state", std::ranges::find(states, turn.state, &std::pair<State, const char*>::first)->second},
             {"order", turn.order},
             {"number", turn.number},
             {"units", turn.units},
             {"together", turn.together},
             {"wanted", turn.wanted},
             {"place", turn.place},
             {"held", turn.held},
             {"ahead", json::array()},
             {"left_out", turn.left_out}};
    for (const auto& waiter : turn.ahead) {
        out["ahead"].push_back(waiter_object(waiter));
    }
    if (turn.looks) {
        out["looks"] = true;
        out["could"] = bytes_array(turn.could);
        out["free"] = bytes_array(turn.free);
    }
}

void read_fields(ObjectReader& reader, GpuAsk& ask) {
    reader.read("share", ask.share);
    reader.read("look", ask.look);
    ask.share = ask.share && !ask.look;
    reader.read("count", ask.count, all_units, std::numeric_limits<int>::max());
    reader.read("priority", ask.priority, -max_priority, max_priority);
    reader.read("number", ask.number, 0, std::numeric_limits<std::int64_t>::max());
    reader.read("in_use_mib", ask.in_use_mib, 0, std::numeric_limits<std::int64_t>::max());
    read_list(reader, "taken", ask.taken);
}

void read_fields(ObjectReader& reader, GpuUnit& unit) {
    reader.require("id");
    reader.read("id", unit.id);
    reader.read("index", unit.index, 0, std::numeric_limits<int>::max());
    read_name(reader, "name", unit.name);
}

void read_fields(ObjectReader& reader, GpuParty& party) {
    read_name(reader, "cluster", party.cluster);
    read_name(reader, "node", party.node);
    read_name(reader, "job", party.job);
    read_name(reader, "owner", party.owner);
    reader.read("age_s", party.age_s, 0, std::numeric_limits<std::int64_t>::max());
    reader.read("left_s", party.left_s, 0, std::numeric_limits<std::int64_t>::max());
}

void read_fields(ObjectReader& reader, GpuTurn& turn) {
    std::string state;
    reader.require("state");
    reader.read("state", state);
    const auto* const found = std::ranges::find(states, state, &std::pair<State, const char*>::second);
    if (found == states.end()) {
        return reader.fail("unknown state \"" + state + "\"");
    }
    turn.state = found->first;
    reader.read("order", turn.order, 0, std::numeric_limits<std::int64_t>::max());
    reader.read("number", turn.number, 0, std::numeric_limits<std::int64_t>::max());
    read_list(reader, "units", turn.units);
    reader.read("together", turn.together);
    reader.read("wanted", turn.wanted, 0, std::numeric_limits<int>::max());
    reader.read("place", turn.place, 0, std::numeric_limits<int>::max());
    read_list(reader, "held", turn.held);
    read_list(reader, "ahead", turn.ahead);
    reader.read_bytes("left_out", turn.left_out);
    reader.read("looks", turn.looks);
    reader.read_bytes("could", turn.could);
    reader.read_bytes("free", turn.free);
}

std::string gpu_report_line(const GpuReport& report) {
    json object{{"driver", report.driver},
                {"units", json::array()},
                {"line", json::array()},
                {"topology", report.topology},
                {"problem", report.problem}};
    for (const auto& facts : report.units) {
        object["units"].push_back(facts_object(facts));
    }
    for (const auto& waiter : report.line) {
        object["line"].push_back(waiter_object(waiter));
    }
    return dump(object) + "\n";
}

Result<GpuReport> parse_gpu_report(std::string_view line) {
    const auto object = parse_object(line, "the report of the GPUs");
    TRY(object);
    GpuReport report;
    ObjectReader reader(*object, "the report of the GPUs");
    reader.read("driver", report.driver);
    read_list(reader, "units", report.units);
    read_list(reader, "line", report.line);
    reader.read("topology", report.topology);
    reader.read("problem", report.problem);
    if (reader.failed()) {
        return reader.error();
    }
    return report;
}

} // namespace dockdist::wire
