// Sizes and durations as people write them.
#pragma once

#include "shared/core/names.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace dockdist {

// "64g", "512MiB", "1.5G", "4096" (bytes): powers of 1024, as Docker reads them. Empty when it is not a size.
std::optional<Bytes> parse_size(std::string_view text);

// "30s", "5m", "1h30m", "250ms", "10" (seconds). Empty when it is not a duration.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// With so many digits behind the point: "612", "0.9".
std::string decimal(double value, int digits);

// "1.5 GiB", "64.0 MiB", "512 B".
std::string format_size(Bytes size);

// As parse_duration reads it back: "30s", "250ms", "2h".
std::string flag_duration(std::chrono::milliseconds duration);

// "0.42 s", "12 s", "3 min 20 s".
std::string format_duration(std::chrono::milliseconds duration);

// How long something has lasted, roughly: "42 s", "12 min", "30 h", "3 days".
std::string format_age(std::chrono::seconds age);

// One that people have set, in the largest unit that divides it: "10 min", "90 s", "250 ms".
std::string format_exact_duration(std::chrono::milliseconds duration);

} // namespace dockdist
