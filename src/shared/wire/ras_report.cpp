#include "shared/wire/ras_report.hpp"

#include "shared/wire/frame.hpp"
#include "shared/wire/json_reader.hpp"
#include "shared/wire/stack_frame.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace dockdist::wire {
namespace {

using RasKind = RasRank::Kind;
constexpr std::array<std::string_view, 6> ras_kind_names{"behind", "gone",   "unresponsive",
                                                         "dead",   "failed", "ahead"};
constexpr std::int64_t most_operations = std::numeric_limits<std::int64_t>::max();

void read_ras_rank(ObjectReader& reader, RasRank& rank) {
    std::string kind;
    reader.read("kind", kind);
    const auto* const found = std::ranges::find(ras_kind_names, kind);
    if (found == ras_kind_names.end()) {
        return reader.fail("unknown kind \"" + kind + "\"");
    }
    rank.kind = static_cast<RasKind>(found - ras_kind_names.begin());
    reader.read("communicator", rank.communicator, longest_stack_word);
    reader.read("rank", rank.rank, 0, max_rank);
    reader.read("size", rank.size, 0, max_rank);
    reader.read("host", rank.host, longest_stack_word);
    reader.read("pid", rank.pid, 0, most_operations);
    reader.read("operation", rank.operation, longest_stack_word);
    reader.read("count", rank.count, 0, most_operations);
    reader.read("most", rank.most, 0, most_operations);
    reader.read("waits", rank.waits);
}

} // namespace

nlohmann::json ras_object(const RasReport& report) {
    auto ranks = nlohmann::json::array();
    for (const auto& rank : report.ranks) {
        ranks.push_back({{"kind", ras_kind_names.at(static_cast<std::size_t>(rank.kind))},
                         {"communicator", rank.communicator},
                         {"rank", rank.rank},
                         {"size", rank.size},
                         {"host", rank.host},
                         {"pid", rank.pid},
                         {"operation", rank.operation},
                         {"count", rank.count},
                         {"most", rank.most},
                         {"waits", rank.waits}});
    }
    return {{"problem", report.problem},
            {"version", report.version},
            {"asked_ms", report.asked_ms},
            {"moves", report.moves},
            {"ranks", std::move(ranks)}};
}

void read_ras(ObjectReader& reader, RasReport& report) {
    reader.read("problem", report.problem, longest_stack_word);
    reader.read("version", report.version, longest_stack_word);
    reader.read("asked_ms", report.asked_ms, 0, most_operations);
    reader.read("moves", report.moves);
    read_objects(reader, "ranks", [&](ObjectReader& nested) {
        if (report.ranks.size() == most_ras_ranks) {
            return nested.fail("too many ranks");
        }
        read_ras_rank(nested, report.ranks.emplace_back());
    });
}

} // namespace dockdist::wire
