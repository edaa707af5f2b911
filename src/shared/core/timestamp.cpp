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

// As people count: before a month and a year are made std::tm's.
bool is_date(const std::tm& parts) {
    const std::chrono::year_month_day date{std::chrono::year(parts.tm_year),
                                           std::chrono::month(static_cast<unsigned>(parts.tm_mon)),
                                           std::chrono::day(static_cast<unsigned>(parts.tm_mday))};
    return parts.tm_mon >= 0 && parts.tm_mday >= 0 && date.ok();
}

} // namespace

// A clock of 64 bits of nanoseconds has 292 years either way.
constexpr std::chrono::hours longest_from_1970{24 * 366 * 290};

std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text) {
    std::tm parts{};
    if (!take_number(text, 4, '-', parts.tm_year) || !take_number(text, 2, '-', parts.tm_mon) ||
        !take_number(text, 2, 'T', parts.tm_mday) || !take_number(text, 2, ':', parts.tm_hour) ||
        !take_number(text, 2, ':', parts.tm_min) || !take_number(text, 2, '\0', parts.tm_sec)) {
        return std::nullopt;
    }
    if (!is_date(parts) || parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > 60) { // a leap second
        return std::nullopt;
    }
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
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
    const std::chrono::seconds since_1970(::timegm(&parts));
    if (std::chrono::abs(since_1970) > longest_from_1970) {
        return std::nullopt;
    }
    return std::chrono::system_clock::time_point(since_1970) + fraction - offset;
}

std::optional<std::chrono::system_clock::time_point> parse_day(std::string_view text) {
    std::tm parts{};
    if (!take_number(text, 4, '-', parts.tm_year) || !take_number(text, 2, '-', parts.tm_mon) ||
        !take_number(text, 2, '\0', parts.tm_mday) || !text.empty() || !is_date(parts)) {
        return std::nullopt;
    }
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    parts.tm_isdst = -1;
    const std::chrono::seconds since_1970(::mktime(&parts));
    if (std::chrono::abs(since_1970) > longest_from_1970) {
        return std::nullopt;
    }
    return std::chrono::system_clock::time_point(since_1970);
}

std::int64_t unix_now_ms() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

} // namespace dockdist
