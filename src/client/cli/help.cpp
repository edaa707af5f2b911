// help, and the command line's first page.
#include "client/cli/context.hpp"
#include "client/cli/line/help_text.hpp"
#include "client/cli/line/line_error.hpp"
#include "client/cli/line/values.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace dockdist {
namespace {

Task<int> run_help(Context& context, const CLI::App& program, std::vector<std::string> words) {
    const auto* command = &program;
    for (const auto& word : words) {
        const CLI::App* below = nullptr;
        for (const auto* one : commands_of(*command)) {
            below = one->get_name() == word ? one : below;
        }
        if (below == nullptr) {
            co_return context.fail(no_command(*command, word));
        }
        command = below;
    }
    if (context.json()) {
        context.print_json(help_json(*command));
    } else {
        context.show(help_text(*command, help_output()));
    }
    co_return 0;
}

} // namespace

void add_help(CLI::App& app, Program& program) {
    auto words = std::make_shared<std::vector<std::string>>();
    auto* command =
        describe(app.add_subcommand("help", "Show what a command does and takes"), command_group::itself,
                 {"dockdist help run", "dockdist help image push", "dockdist help -o json"});
    command->add_option("WORDS", *words, "A command, such as `run` or `image push` (default: all)")
        ->type_name("COMMANDS");
    command->callback([words, &app, &program] {
        program.one_value = true;
        program.work = [words, &app](Context& context) { return run_help(context, app, *words); };
    });
}

} // namespace dockdist
