// A command line, read along CLI11's own tree as far as it goes: what completion builds on, and what says
// which word is wrong. Pure.
#pragma once

#include <CLI/CLI.hpp>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dockdist {

struct LineRead {
    const CLI::App* command = nullptr;    // the innermost that was named; at first the program itself
    const CLI::Option* waiting = nullptr; // the last word was this option, whose value comes next
    std::size_t positionals = 0;          // of `command`, that were given
    bool after_dashes = false;            // `--` has been
    std::string unknown_command{};        // stands where `command` has commands, and is none
    std::string unknown_option{};         // the first
    const CLI::App* without_it = nullptr; // the command that has no such option
    const CLI::Option* emptied = nullptr; // the first that was given as `--option=`, or just before `--`
    // Of options, by their long name, of which the last one counts; of positionals, by theirs.
    std::map<std::string, std::string> values{};
};

// `words`: without the program's name.
LineRead read_line(const CLI::App& program, std::span<const std::string> words);

// That a command takes: its own, then what stands before every command (-f, -o).
std::vector<const CLI::Option*> options_of(const CLI::App& command);
std::vector<const CLI::Option*> positionals_of(const CLI::App& command);
// In the order in which they were added, without hidden ones.
std::vector<const CLI::App*> commands_of(const CLI::App& command);

// The option that the word names ("-f", "--file"), of the command or of those above it; null: none.
const CLI::Option* option_named(const CLI::App& command, const std::string& name);

bool takes_value(const CLI::Option& option);
// "--file"; "FILE" of a positional.
std::string shown_name(const CLI::Option& option);
// "DURATION", "text|json": what its value is.
std::string placeholder(const CLI::Option& option);
// "dockdist image push".
std::string full_name(const CLI::App& command);

// The words of a line as a shell splits it: quotes and backslashes, no expansions. The last one is what the
// cursor stands behind: empty behind a space. `begins`: where each begins in `line`.
struct ShellWords {
    std::vector<std::string> words{};
    std::vector<std::size_t> begins{};
};
ShellWords shell_words(std::string_view line);

} // namespace dockdist
