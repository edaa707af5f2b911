#include "client/cli/context.hpp"
#include "client/cli/line/values.hpp"
#include "client/toolkit/toolkit.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dockdist {
namespace {

Task<int> run_version(Context& context) {
    if (context.json()) {
        nlohmann::json all;
        for (const auto& toolkit : toolkits().all()) {
            all[toolkit.architecture] = toolkit.version;
        }
        context.print_json(
            {{"version", DOCKDIST_VERSION}, {"toolkit", own_toolkit().version}, {"toolkits", all}});
    } else {
        context.print(fmt::format("dockdist {} (toolkit {})\n", DOCKDIST_VERSION, own_toolkit().version));
    }
    co_return 0;
}

} // namespace

void add_version(CLI::App& app, Program& program) {
    auto* command =
        describe(app.add_subcommand("version", "Print the versions of the program and of the toolkit in it"),
                 command_group::itself, {"dockdist version -o json"});
    command->callback([&program] {
        program.one_value = true;
        program.work = run_version;
    });
}

} // namespace dockdist
