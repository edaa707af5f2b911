// What a node keeps of its jobs: within which bounds, as the file says it, and how much it is.
#pragma once

#include "shared/core/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist::wire {

class ObjectReader;

// Of jobs that have ended. A node of an older dockdist passes over it.
struct HistoryLimits {
    std::int64_t keep_bytes = std::int64_t{20} << 30U;              // output, of all jobs together
    std::int64_t for_ms = std::int64_t{90} * 24 * 3600 * 1000;      // the record of a job, from its end on
    std::int64_t logs_for_ms = std::int64_t{30} * 24 * 3600 * 1000; // its output
    bool operator==(const HistoryLimits&) const = default;
};
void to_json(nlohmann::json& json, const HistoryLimits& limits);
void read_history_limits(ObjectReader& reader, HistoryLimits& limits);

// The answer of `dockdist-init job kept`: a line.
struct KeptHistory {
    std::int64_t bytes = 0;          // on disk
    std::vector<std::string> jobs{}; // their names
    bool operator==(const KeptHistory&) const = default;
};
std::string to_text(const KeptHistory& kept); // with '\n'
Result<KeptHistory> parse_kept_history(std::string_view text);

} // namespace dockdist::wire
