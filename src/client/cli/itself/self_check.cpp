#include "client/cli/context.hpp"
#include "client/cli/itself/own_rows.hpp"
#include "client/cli/line/values.hpp"
#include "client/report/error_text.hpp"
#include "client/report/table.hpp"
#include "client/toolkit/toolkit.hpp"
#include "shared/core/exit_codes.hpp"
#include "shared/wire/version.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace dockdist {
namespace {

std::string rows_text(const std::vector<CheckRow>& rows, const OutputTraits& output) {
    constexpr std::size_t least_text = 28;
    Table table({{.paint = state_style},
                 {.title = "CHECK"},
                 {.title = "FOUND", .narrow = Narrow::wrap, .least = least_text}});
    std::string todo;
    for (const auto& row : rows) {
        table.add_row({row.state == CheckRow::State::fail ? "FAIL" : std::string(to_string(row.state)),
                       row.check, row.text});
        todo += row.hint.empty() ? "" : fmt::format("{}: {}\n", row.check, row.hint);
    }
    const auto text = table.to_text(rows.size(), output);
    return todo.empty() ? text : text + "\nWhat to do:\n" + laid_out(todo, output);
}

nlohmann::json rows_json(const std::vector<CheckRow>& rows, bool works) {
    nlohmann::json json{
        {"version", DOCKDIST_VERSION},      {"commit", built_from()}, {"architecture", own_architecture()},
        {"toolkit", own_toolkit().version}, {"wire", wire::version},  {"works", works},
        {"rows", nlohmann::json::array()}};
    for (const auto& row : rows) {
        json["rows"].push_back(
            {{"state", to_string(row.state)}, {"check", row.check}, {"text", row.text}, {"hint", row.hint}});
    }
    return json;
}

Task<int> run_self_check(Context& context) {
    auto rows = build_rows();
    std::ranges::move(machine_rows(), std::back_inserter(rows));
    std::ranges::move(co_await place_rows(context), std::back_inserter(rows));
    const bool works = std::ranges::find(rows, CheckRow::State::fail, &CheckRow::state) == rows.end();
    if (context.json()) {
        context.print_json(rows_json(rows, works));
    } else {
        context.show(rows_text(rows, context.output()));
    }
    co_return works ? 0 : exit_codes::failed;
}

} // namespace

void add_self_check(CLI::App& app, Program& program) {
    auto* command = describe(
        app.add_subcommand("self-check", "Show what this build is, and what it finds on this machine, for "
                                         "a bug report. Contacts no host, and shows no secrets"),
        command_group::itself, {"dockdist self-check", "dockdist self-check -o json"});
    command->callback([&program] {
        program.one_value = true;
        program.work = run_self_check;
    });
}

} // namespace dockdist
