#include "shared/core/timestamp.hpp"

#include "shared/core/number.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace dockdist {
namespace {

bool take_number(std::string_view& text, std::size_t digits, char end, int& number) {
    if (text.size() < digits || (end != '\0' && (text.size() == digits || text[digits] != end))) {
        return false;
    }
    const auto field = whole_number<int>(text.substr(0, digits));
    if (!field) {
        return false;
    }
    number = *field;
    text.remove_prefix(digits + (end != '\0' ? 1 : 0));
    return true;
}

// YYYY-MM-DD and `end`; none where there is no such day.
bool take_date(std::string_view& text, char end, std::tm& parts) {
    if (!take_number(text, 4, '-', parts.tm_year) || !take_number(text, 2, '-', parts.tm_mon) ||
        !take_number(text, 2, end, parts.tm_mday) || parts.tm_mon < 0 || parts.tm_mday < 0) {
        return false;
    }
    const std::chrono::year_month_day date{std::chrono::year(parts.tm_year),
                                           std::chrono::month(static_cast<unsigned>(parts.tm_mon)),
                                           std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
    parts.tm_year -= 1900; // as a std::tm counts
    parts.tm_mon -= 1;
    return date.ok();
}

// A clock of 64 bits of nanoseconds has 292 years either way.
std::optional<std::chrono::system_clock::time_point> time_point(std::time_t since_1970) {
    constexpr std::chrono::hours longest_from_1970{24 * 366 * 290};
    const std::chrono::seconds seconds(since_1970);
    return std::chrono::abs(seconds) > longest_from_1970
               ? std::nullopt
               : std::optional(std::chrono::system_clock::time_point(seconds));
}

} // namespace

std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text) {
    std::tm parts{};
    if (!take_date(text, 'T', parts) || !take_number(text, 2, ':', parts.tm_hour) ||
        !take_number(text, 2, ':', parts.tm_min) || !take_number(text, 2, '\0', parts.tm_sec) ||
        parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > 60) { // a leap second
        return std::nullopt;
    }
    std::chrono::milliseconds fraction{0};
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
        int unit = 100;
        for (std::size_t i = 0; i < digits && unit > 0; ++i, unit /= 10) {
            fraction += std::chrono::milliseconds(unit * (text[i] - '0'));
        }
        text.remove_prefix(digits);
    }
    std::chrono::minutes offset{0};
    if (text != "Z") {
        const int sign = text.starts_with('+') ? 1 : text.starts_with('-') ? -1 : 0;
        int hours = 0;
        int minutes = 0;
        if (sign == 0) {
            return std::nullopt;
        }
        text.remove_prefix(1);
        if (!take_number(text, 2, ':', hours) || !take_number(text, 2, '\0', minutes) || !text.empty() ||
            hours > 23 || minutes > 59) {
            return std::nullopt;
        }
        offset = sign * std::chrono::minutes(hours * 60 + minutes);
    }
    const auto whole = time_point(::timegm(&parts));
    return whole ? std::optional(*whole + fraction - offset) : std::nullopt;
}

std::optional<std::chrono::system_clock::time_point> parse_day(std::string_view text) {
    std::tm parts{};
    if (!take_date(text, '\0', parts) || !text.empty()) {
        return std::nullopt;
    }
    parts.tm_isdst = -1;
    return time_point(::mktime(&parts));
}

std::int64_t unix_now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

} // namespace dockdist
