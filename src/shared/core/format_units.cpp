// Apart from its siblings: dockdist-init says sizes and durations too, and has no fmt.
#include "shared/core/units.hpp"

#include <array>
#include <cstdio>

namespace dockdist {

std::string decimal(double value, int digits) {
    std::array<char, 400> text{}; // a double's 309 digits, and more behind the point than anybody asks for
    (void)std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

std::string format_size(Bytes size) {
    static constexpr std::array<const char*, 6> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    auto value = static_cast<double>(size.count);
    std::size_t unit = 0;
    while (value >= 1024 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return (unit == 0 ? std::to_string(size.count) : decimal(value, 1)) + " " + units.at(unit);
}

std::string format_duration(std::chrono::milliseconds duration) {
    const double seconds = static_cast<double>(duration.count()) / 1000;
    if (seconds < 60) {
        std::array<char, 32> text{};
        (void)std::snprintf(text.data(), text.size(), seconds < 10 ? "%.2f s" : "%.0f s", seconds);
        return text.data();
    }
    const auto whole = duration.count() / 1000;
    if (whole < 3600) {
        return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
    }
    return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

std::string format_age(std::chrono::seconds age) {
    using std::chrono::days;
    using std::chrono::floor;
    using std::chrono::hours;
    using std::chrono::minutes;
    return age < minutes(1) ? std::to_string(age.count()) + " s"
           : age < hours(1) ? std::to_string(floor<minutes>(age).count()) + " min"
           : age < days(2)  ? std::to_string(floor<hours>(age).count()) + " h"
                            : std::to_string(floor<days>(age).count()) + " days";
}

std::string format_exact_duration(std::chrono::milliseconds duration) {
    const auto count = duration.count();
    if (count % 3600000 == 0) {
        return std::to_string(count / 3600000) + " h";
    }
    if (count % 60000 == 0) {
        return std::to_string(count / 60000) + " min";
    }
    return count % 1000 == 0 ? std::to_string(count / 1000) + " s" : std::to_string(count) + " ms";
}

} // namespace dockdist
