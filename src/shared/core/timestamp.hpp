// Points in time as engines write them, and days.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dockdist {

// RFC 3339 with any fraction (kept to milliseconds) and any offset; nothing when it is not that.
std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text);

// "2026-02-28": when that day begins in this machine's time zone.
std::optional<std::chrono::system_clock::time_point> parse_day(std::string_view text);

std::int64_t unix_now_ms(); // since 1970, by this machine's clock

} // namespace dockdist
