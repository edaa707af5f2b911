#include "client/cli/cluster/check_summary.hpp"

#include "shared/core/counted.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace dockdist {
namespace {

using State = CheckRow::State;

auto count(const CheckReport& report, State state) {
    return std::ranges::count(report.rows, state, &CheckRow::state);
}

} // namespace

std::string check_summary(const CheckReport& report) {
    const auto warnings = count(report, State::warn);
    const auto failed = count(report, State::fail);
    auto text = fmt::format("{} passed", count(report, State::pass));
    if (warnings > 0) {
        text += fmt::format(", {}", counted(warnings, "warning"));
    }
    return failed > 0 ? fmt::format("{}, {} failed", text, failed) : text;
}

std::vector<Event> check_remarks(const CheckReport& report, const Errors& told) {
    const bool all =
        std::ranges::all_of(report.rows, [](const auto& row) { return row.state == State::pass; });
    std::vector<Event> events{{.kind = Event::Kind::note,
                               .subject = "check",
                               .text = check_summary(report) + (all ? "" : " (`dockdist check` shows all)")}};
    for (const auto& row : report.rows) {
        if (row.state == State::pass || std::ranges::find(told, row.text, &Error::message) != told.end()) {
            continue;
        }
        events.push_back(
            warning_event({.where = row.subject,
                           .message = fmt::format("{}{}: {}", row.state == State::fail ? "FAILED, " : "",
                                                  row.check, row.text),
                           .hint = row.hint}));
    }
    return events;
}

nlohmann::json check_json(const CheckReport& report) {
    nlohmann::json json{{"passed", count(report, State::pass)},
                        {"warnings", count(report, State::warn)},
                        {"failed", count(report, State::fail)},
                        {"rows", nlohmann::json::array()}};
    for (const auto& row : report.rows) {
        if (row.state != State::pass) {
            json["rows"].push_back({{"state", row.state == State::fail ? "fail" : "warn"},
                                    {"subject", row.subject},
                                    {"check", row.check},
                                    {"text", row.text},
                                    {"hint", row.hint}});
        }
    }
    return json;
}

} // namespace dockdist
