// Points in time as engines write them.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace dockdist {

// RFC 3339 with any fraction (kept to milliseconds) and any offset; nothing when it is not that.
std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text);

} // namespace dockdist
