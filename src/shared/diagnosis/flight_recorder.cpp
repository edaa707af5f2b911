#include "shared/diagnosis/flight_recorder.hpp"

#include "shared/core/number.hpp"
#include "shared/diagnosis/pickle.hpp"
#include "shared/diagnosis/place.hpp"
#include "shared/wire/frame.hpp"
#include "shared/wire/stacks.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string>

namespace dockdist {
namespace {

using Value = PickleValue;
using Groups = std::map<std::string, wire::FlightGroup, std::less<>>;

constexpr std::size_t most_entries = 100'000;
constexpr std::size_t most_told_numbers = 65'536; // of groups' ranks together: a line of the wire holds them
constexpr std::size_t most_frames = wire::most_stack_frames;

// "[0, 1, 2]".
std::vector<int> ranks_in(std::string_view text) {
    std::vector<int> ranks;
    while (!text.empty() && ranks.size() < wire::most_flight_ranks) {
        const auto end = std::min(text.find_first_not_of("0123456789"), text.size());
        if (const auto number = whole_number<int>(text.substr(0, end))) {
            ranks.push_back(std::min(*number, wire::max_rank));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return ranks;
}

std::int64_t not_negative(std::int64_t number) {
    return std::max<std::int64_t>(number, 0);
}

std::string sizes_text(const Value& sizes) {
    std::string text = "[";
    for (std::size_t i = 0; i < sizes.size() && text.size() < wire::longest_stack_word; ++i) {
        text += i == 0 ? "[" : ", [";
        for (std::size_t k = 0; k < sizes.at(i).size() && text.size() < wire::longest_stack_word; ++k) {
            text += (k == 0 ? "" : ", ") + std::to_string(sizes.at(i).at(k).integer());
        }
        text += "]";
    }
    return text + "]";
}

std::string tensors_text(const Value& sizes, const Value& types) {
    std::string text = sizes_text(sizes);
    for (std::size_t i = 0; i < types.size() && text.size() < wire::longest_stack_word; ++i) {
        text += (i == 0 ? " " : ", ") + std::string(types.at(i).text().substr(0, 32));
    }
    return text;
}

// Of all tensors together; what cannot be is 0.
std::int64_t elements_of(const Value& sizes) {
    constexpr std::int64_t most = 1LL << 62;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        std::int64_t product = 1;
        for (std::size_t k = 0; k < sizes.at(i).size(); ++k) {
            const auto size = not_negative(sizes.at(i).at(k).integer());
            product = size != 0 && product > most / size ? most : product * size;
        }
        sum = std::min(most, sum + product);
        if (sum >= most) {
            return 0;
        }
    }
    return sum;
}

wire::StackFrame own_frame(const Value& frames) {
    wire::ThreadStack thread;
    for (std::size_t i = 0; i < std::min(frames.size(), most_frames); ++i) {
        const auto frame = frames.at(i);
        thread.frames.push_back(
            {wire::stack_word(frame["name"].text()), wire::stack_word(frame["filename"].text()),
             static_cast<int>(
                 std::clamp<std::int64_t>(frame["line"].integer(), 0, std::numeric_limits<int>::max()))});
    }
    return thread.frames.empty() ? wire::StackFrame() : thread.frames[place_of(thread).frame];
}

wire::FlightEntry entry_of(const Value& entry, std::int64_t dumped_ns) {
    const bool p2p = entry["is_p2p"].is_true();
    const auto created = not_negative(entry["time_created_ns"].integer());
    return {.record = not_negative(entry["record_id"].integer()),
            .sequence = not_negative(entry[p2p ? "p2p_seq_id" : "collective_seq_id"].integer()),
            .p2p = p2p,
            .name = wire::stack_word(entry["profiling_name"].text()),
            .state = wire::stack_word(entry["state"].text()),
            .sizes = wire::stack_word(tensors_text(entry["input_sizes"], entry["input_dtypes"]) + " -> " +
                                      tensors_text(entry["output_sizes"], entry["output_dtypes"])),
            .elements = elements_of(entry["input_sizes"]),
            .waits_ms = not_negative(dumped_ns - created) / 1'000'000,
            .frame = own_frame(entry["frames"])};
}

bool is_active(const Value& entry) {
    return entry["state"].text() != "completed" && !entry["retired"].is_true();
}

wire::FlightGroup* group_of(Groups& groups, const Value& entry) {
    const auto name = wire::stack_word(entry["process_group"].at(0).text());
    if (!groups.contains(name) && groups.size() == wire::most_flight_groups) {
        return nullptr;
    }
    auto& group = groups[name];
    group.name = name;
    group.description = wire::stack_word(entry["process_group"].at(1).text());
    return &group;
}

void tell_progress(wire::FlightGroup& group, const Value& status) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    group.enqueued = std::clamp(status["last_enqueued_collective"].integer(wire::no_collective),
                                wire::no_collective, most);
    group.completed = std::clamp(status["last_completed_collective"].integer(wire::no_collective),
                                 wire::no_collective, most);
}

// Its keys are the rank's own numbers of its groups, which its entries alone bear with the names; the first
// one is that of all ranks.
void tell_all_progress(Groups& groups, const Value& status,
                       const std::map<std::int64_t, std::string>& names) {
    for (const auto& [id, name] : names) {
        if (const auto found = groups.find(name); found != groups.end()) {
            tell_progress(found->second, status[std::to_string(id)]);
        }
    }
}

} // namespace

Result<wire::FlightRecord> read_flight_dump(std::string_view bytes, std::int64_t dumped_ns) {
    const auto pickle = Pickle::read(bytes);
    TRY(pickle);
    const auto root = pickle->root();
    const auto entries = root["entries"];
    if (!root.is_dictionary() || root["version"].text().empty()) {
        return Error{.kind = ErrorKind::protocol, .message = "a flight recorder's dump without a version"};
    }
    Groups groups;
    std::map<std::int64_t, std::string> names{{0, "0"}};
    if (root["pg_config"]["0"].is_dictionary()) {
        groups["0"] = {.name = "0", .description = wire::stack_word(root["pg_config"]["0"]["desc"].text())};
    }
    for (std::size_t i = 0; i < std::min(entries.size(), most_entries); ++i) {
        const auto entry = entries.at(i);
        auto* const group = group_of(groups, entry);
        if (group == nullptr) {
            continue;
        }
        if (entry["pg_id"].is_integer()) {
            names[entry["pg_id"].integer()] = group->name;
        }
        const auto record = not_negative(entry["record_id"].integer());
        if (is_active(entry) && (!group->waits || record < group->first.record)) {
            group->waits = true;
            group->first = entry_of(entry, dumped_ns);
        }
    }
    tell_all_progress(groups, root["pg_status"], names);
    wire::FlightRecord record{.version = wire::stack_word(root["version"].text())};
    auto room = most_told_numbers;
    for (auto& [name, group] : groups) {
        if (group.waits) {
            group.ranks = ranks_in(root["pg_config"][name]["ranks"].text());
            if (group.ranks.size() > room) {
                group.ranks.clear();
            }
            room -= group.ranks.size();
        }
        record.groups.push_back(std::move(group));
    }
    return record;
}

} // namespace dockdist
