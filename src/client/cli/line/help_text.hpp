// `--help`, made of CLI11's own tree and laid out for where it goes.
#pragma once

#include "client/report/output.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json_fwd.hpp>

#include <string>

namespace dockdist {

// For any command; of the program itself all commands in their groups, each with an example.
std::string help_text(const CLI::App& command, const OutputTraits& output);

// What the program says when nothing was asked of it: the commands, a line each where there is room.
std::string short_help(const CLI::App& program, const OutputTraits& output);

// The same for programs, the commands below it included: {command, description, usage, group, arguments,
// options, examples, notes, commands}. Options of every command stand with the program alone.
nlohmann::json help_json(const CLI::App& command);

// What is said of an option, or of a positional: its default, and what it goes with, included.
std::string option_words(const CLI::Option& option);
// "-f, --file FILE"; without the -f where that is another one's of this command.
std::string option_head(const CLI::App& command, const CLI::Option& option);
bool is_help(const CLI::Option& option);

// "dockdist cp [OPTIONS] FROM TO".
std::string usage_of(const CLI::App& command);

// Of stdout; as wide as a book where that is no terminal, and no wider than is read with ease.
OutputTraits help_output();

// What CLI11 asks for help; for the program and, as they are added after it, for all commands.
class HelpFormatter : public CLI::FormatterBase {
public:
    std::string make_help(const CLI::App* command, std::string name, CLI::AppFormatMode mode) const override;
};

} // namespace dockdist
