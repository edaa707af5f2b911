#include "client/cli/line/values.hpp"

#include "client/spec/names.hpp"
#include "shared/core/ending_signals.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/timestamp.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace dockdist {
namespace {

constexpr const char* duration_form = "write it like 10s, 5m or 1h30m";

// `refusal`: what is wrong with a value; empty where nothing is.
CLI::Option* checked(CLI::Option* option, std::string type,
                     std::function<std::string(const std::string&)> refusal) {
    option->type_name(std::move(type));
    return option->check([refusal = std::move(refusal)](const std::string& word) { return refusal(word); });
}

} // namespace

CLI::Option* number(CLI::Option* option, std::int64_t from, std::int64_t to) {
    return checked(option, "N", [from, to](const std::string& word) {
        const auto value = whole_number<std::int64_t>(word);
        return value && *value >= from && *value <= to
                   ? std::string()
                   : fmt::format("{} is not a whole number from {} to {}", printable(word), from, to);
    });
}

CLI::Option* choice(CLI::Option* option, const std::vector<std::string>& words) {
    return checked(option, fmt::format("{}", fmt::join(words, "|")), [words](const std::string& word) {
        if (std::ranges::find(words, word) != words.end()) {
            return std::string();
        }
        const std::vector<std::string_view> known(words.begin(), words.end());
        const auto meant = nearest(word, known);
        return fmt::format("{} is not one of {}{}", printable(word), fmt::join(words, ", "),
                           meant.empty() ? "" : "\ndid you mean " + meant + "?");
    });
}

CLI::Option* duration(CLI::Option* option, std::chrono::milliseconds least, std::chrono::milliseconds most) {
    return checked(option, "DURATION", [least, most](const std::string& word) {
        const auto value = parse_duration(word);
        if (value && *value >= least && *value <= most) {
            return std::string();
        }
        const auto which = most != std::chrono::milliseconds::max()
                               ? fmt::format(" from {} to {}", flag_duration(least), flag_duration(most))
                               : std::string(least.count() > 0 ? " above zero" : "");
        return fmt::format("`{}` is not a duration{}\n{}", printable(word), which, duration_form);
    });
}

CLI::Option* duration_or_off(CLI::Option* option) {
    return checked(option, "DURATION|off", [](const std::string& word) {
        const auto value = parse_duration(word);
        return word == "off" || (value && value->count() > 0)
                   ? std::string()
                   : fmt::format("`{}` is not a duration above zero\nwrite it like 30m or 1h30m, or off",
                                 printable(word));
    });
}

CLI::Option* size(CLI::Option* option, std::uint64_t least) {
    return checked(option, "SIZE", [least](const std::string& word) {
        const auto value = parse_size(word);
        return value && value->count >= least
                   ? std::string()
                   : fmt::format("`{}` is not a size of {} or more\nwrite it like 512m or 4g",
                                 printable(word), format_size(Bytes{least}));
    });
}

CLI::Option* moment(CLI::Option* option) {
    return checked(option, "TIME", [](const std::string& word) {
        constexpr auto latest = std::numeric_limits<std::int64_t>::max(); // any duration leads back from it
        return moment_ms(word, latest)
                   ? std::string()
                   : fmt::format("`{}` is neither a duration nor a point in time\nwrite it like 10m or 30d, "
                                 "like 2026-02-28, or like 2026-02-28T17:30:00Z or 2026-02-28T17:30:00+01:00",
                                 printable(word));
    });
}

std::optional<std::int64_t> moment_ms(std::string_view word, std::int64_t now_ms) {
    if (const auto duration = parse_duration(word)) {
        return std::max<std::int64_t>(now_ms - duration->count(), 0);
    }
    const auto point = word.find('T') == std::string_view::npos ? parse_day(word) : parse_timestamp(word);
    if (!point || point->time_since_epoch().count() < 0) {
        return std::nullopt;
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(point->time_since_epoch()).count();
}

CLI::Option* variable(CLI::Option* option) {
    return checked(option, "NAME=VALUE", [](const std::string& word) {
        const auto name = word.substr(0, word.find('='));
        return is_variable_name(name)
                   ? std::string()
                   : fmt::format("`{}` is not a variable's name\nwrite NAME=VALUE, or NAME to pass on yours: "
                                 "letters, digits and `_`, no digit first",
                                 printable(name));
    });
}

CLI::Option* stop_signal(CLI::Option* option) {
    return checked(option, "SIGNAL", [](const std::string& word) {
        return ending_signal(word) ? std::string()
                                   : fmt::format("`{}` is not a signal that tells a job to end\nwrite {}",
                                                 printable(word), ending_signals);
    });
}

CLI::App* describe(CLI::App* command, const char* group, const std::vector<std::string>& examples) {
    command->group(group);
    command->footer(fmt::format("Examples:\n  {}", fmt::join(examples, "\n  ")));
    return command;
}

} // namespace dockdist
