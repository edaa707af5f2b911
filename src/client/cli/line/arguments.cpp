#include "client/cli/line/arguments.hpp"

#include "client/cli/line/read_line.hpp"
#include "shared/core/text.hpp"

#include <filesystem>

namespace dockdist {
namespace {

template <class Work>
void for_each_command(CLI::App& above, const Work& work) {
    for (auto* command : above.get_subcommands({})) {
        work(*command);
        for_each_command(*command, work);
    }
}

} // namespace

void take_file_everywhere(CLI::App& app, std::string& file) {
    for_each_command(app, [&](CLI::App& command) {
        if (positionals_of(command).empty() && command.get_subcommands({}).empty() &&
            command.get_name() != "version") {
            command.add_option("FILE", file, "cluster.yaml, as with --file")
                ->excludes(app.get_option("--file"));
        }
    });
}

void refuse_files_as_names(CLI::App& app) {
    for_each_command(app, [](CLI::App& command) {
        for (auto* option : command.get_options({})) {
            const auto wanted = placeholder(*option);
            if (!option->get_positional() || (wanted != "JOB" && wanted != "NODE")) {
                continue;
            }
            option->check([name = full_name(command), wanted](const std::string& word) {
                std::error_code ignored;
                const bool is_file = (word.ends_with(".yaml") || word.ends_with(".yml")) &&
                                     std::filesystem::exists(word, ignored);
                return is_file ? "`" + printable(word) + "` is a file, and no " +
                                     (wanted == "JOB" ? "job" : "node") +
                                     "\nthe file goes before the command: dockdist -f " + shell_quote(word) +
                                     name.substr(name.find(' '))
                               : std::string();
            });
        }
    });
}

void refuse_empty_words(CLI::App& app) {
    const auto refuse = [](CLI::App& command) {
        for (auto* option : command.get_options({})) {
            if (option->get_items_expected_max() > 0) {
                const bool is_command = option->get_positional() && option->get_items_expected_max() > 1;
                // Before the option's own checks, which say something else of it.
                option->transform(CLI::Validator(
                                      [](const std::string& word) {
                                          return std::string(word.empty() ? "must not be empty" : "");
                                      },
                                      "", "not empty")
                                      .application_index(is_command ? 0 : -1));
            }
        }
    };
    refuse(app);
    for_each_command(app, refuse);
}

} // namespace dockdist
