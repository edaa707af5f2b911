// history: what nodes keep of jobs that have ended, and for how long.
#include "client/spec/sections.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <array>

namespace dockdist {
namespace {

constexpr std::uint64_t least_kept = 1U << 20U;

void read_keep(Reader& reader, const Value& value, HistorySpec& history) {
    const auto size = reader.size(value);
    if (!size) {
        return;
    }
    if (size->count < least_kept || size->count > most_kept.count) {
        reader.error(value, fmt::format("{} is not between 1m and 1p", in_quotes(value.node->text)),
                     "the output of one short job may be more than 1 MiB; write `20g`");
        return;
    }
    history.keep = *size;
}

void read_span(Reader& reader, const Value& value, std::chrono::milliseconds& span) {
    const auto written = reader.text(value, "a duration");
    if (!written) {
        return;
    }
    const auto duration = parse_duration(*written);
    if (!duration || duration->count() == 0 || *duration > longest_history) {
        reader.error(value,
                     fmt::format("expected a duration above zero, and of 100 years at most, found {}",
                                 written->empty() ? "empty text" : in_quotes(*written)),
                     "a duration is written `90d`, `12h` or `30m`");
        return;
    }
    span = *duration;
}

constexpr std::array history_table{
    Key<HistorySpec>{"keep", read_keep},
    Key<HistorySpec>{"for", [](Reader& reader, const Value& value,
                               HistorySpec& history) { read_span(reader, value, history.records_for); }},
    Key<HistorySpec>{"logs_for", [](Reader& reader, const Value& value,
                                    HistorySpec& history) { read_span(reader, value, history.logs_for); }},
};

} // namespace

std::span<const Key<HistorySpec>> history_keys() {
    return history_table;
}

void read_history(Reader& reader, const Value& value, ClusterDraft& draft) {
    if (!reader.is_map(value, "a map", "write `history: {keep: 20g, for: 90d, logs_for: 30d}`")) {
        return;
    }
    auto& history = draft.spec.history;
    read_keys(reader, value, history_keys(), history);
    if (history.logs_for <= history.records_for) {
        return;
    }
    if (const auto* logs_for = value.node->find("logs_for")) {
        reader.error(value.member(*logs_for), "is longer than `for`: no output outlives its job's record",
                     "make `for` longer, or `logs_for` shorter");
    } else {
        history.logs_for = history.records_for;
    }
}

} // namespace dockdist
