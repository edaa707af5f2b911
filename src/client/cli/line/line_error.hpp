// What is wrong with a command line, in words: which word, and what was probably meant. Pure.
#pragma once

#include "client/cli/line/read_line.hpp"
#include "shared/core/error.hpp"

#include <CLI/CLI.hpp>

#include <optional>

namespace dockdist {

// What CLI11 lets pass, or tells as something else: a command or an option that is none, and `--option=`,
// which would take the next word for its value.
std::optional<Error> mistake_in(const LineRead& line);

// CLI11's refusal of the same line.
Error line_error(const LineRead& line, const CLI::ParseError& refusal);

// There is no such command below `above`.
Error no_command(const CLI::App& above, const std::string& word);

} // namespace dockdist
