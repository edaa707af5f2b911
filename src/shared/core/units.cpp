#include "shared/core/units.hpp"

#include "shared/core/ascii.hpp"

#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace dockdist {
namespace {

// Reads "12" or "12.5" from the front of `text`, which it shortens; empty when no digit stands there.
std::optional<double> take_number(std::string_view& text) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) == 0) {
        return std::nullopt;
    }
    double value = 0;
    auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
    if (error != std::errc{} || !std::isfinite(value)) {
        return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
}

} // namespace

std::optional<Bytes> parse_size(std::string_view text) {
    const auto number = take_number(text);
    if (!number) {
        return std::nullopt;
    }
    while (!text.empty() && text.front() == ' ') {
        text.remove_prefix(1);
    }
    std::string unit = to_lower(text);
    if (unit.size() > 1 && unit.ends_with('b')) {
        unit.pop_back();
    }
    if (unit.size() > 1 && unit.ends_with('i')) {
        unit.pop_back();
    }
    int power = 0;
    if (!unit.empty() && unit != "b") {
        const auto index = std::string_view("kmgtp").find(unit);
        if (unit.size() != 1 || index == std::string_view::npos) {
            return std::nullopt;
        }
        power = static_cast<int>(index) + 1;
    }
    const double bytes = *number * std::pow(1024.0, power);
    if (bytes >= static_cast<double>(std::numeric_limits<std::int64_t>::max())) {
        return std::nullopt;
    }
    return Bytes{static_cast<std::uint64_t>(std::llround(bytes))};
}

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    double total_ms = 0;
    bool any = false;
    while (!text.empty()) {
        const auto number = take_number(text);
        if (!number) {
            return std::nullopt;
        }
        double factor = 1000;
        if (text.starts_with("ms")) {
            factor = 1;
            text.remove_prefix(2);
        } else if (text.starts_with('s')) {
            text.remove_prefix(1);
        } else if (text.starts_with('m')) {
            factor = 60e3;
            text.remove_prefix(1);
        } else if (text.starts_with('h')) {
            factor = 3600e3;
            text.remove_prefix(1);
        } else if (text.starts_with('d')) {
            factor = 24 * 3600e3;
            text.remove_prefix(1);
        } else if (any || !text.empty()) {
            return std::nullopt; // a bare number counts as seconds only when it stands alone
        }
        total_ms += *number * factor;
        any = true;
    }
    if (!any || total_ms > 1e15) {
        return std::nullopt;
    }
    return std::chrono::milliseconds(std::llround(total_ms));
}

std::string flag_duration(std::chrono::milliseconds duration) {
    const auto count = duration.count();
    constexpr std::int64_t hour = 3'600'000;
    if (count > 0 && count % hour == 0) {
        return std::to_string(count / hour) + "h";
    }
    return count % 1000 == 0 ? std::to_string(count / 1000) + "s" : std::to_string(count) + "ms";
}

} // namespace dockdist
