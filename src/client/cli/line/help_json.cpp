#include "client/cli/line/help_text.hpp"
#include "client/cli/line/read_line.hpp"
#include "shared/core/text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

using nlohmann::json;

json option_json(const CLI::App& command, const CLI::Option& option) {
    return {{"name", shown_name(option)},
            {"head", option_head(command, option)},
            {"value", takes_value(option) ? json(placeholder(option)) : json()},
            {"description", option_words(option)}};
}

json arguments_json(const CLI::App& command) {
    json arguments = json::array();
    for (const auto* option : positionals_of(command)) {
        arguments.push_back({{"name", shown_name(*option)},
                             {"required", option->get_required()},
                             {"description", option_words(*option)}});
    }
    return arguments;
}

// Its own, without --help where it is not the program's.
json options_json(const CLI::App& command) {
    const auto own = command.get_options([](const CLI::Option*) { return true; });
    json options = json::array();
    for (const auto* option : options_of(command)) {
        if (std::ranges::find(own, option) != own.end() &&
            (command.get_parent() == nullptr || !is_help(*option))) {
            options.push_back(option_json(command, *option));
        }
    }
    return options;
}

// The footer: a heading and lines to copy, and behind an empty line what else is to be said.
std::pair<json, std::string> footer_parts(const std::string& footer) {
    const auto end = std::min(footer.find("\n\n"), footer.size());
    json examples = json::array();
    for (const auto& line : split(footer.substr(0, end), '\n')) {
        if (line.starts_with("  ")) {
            examples.push_back(line.substr(2));
        }
    }
    return {std::move(examples), end < footer.size() ? footer.substr(end + 2) : std::string()};
}

} // namespace

json help_json(const CLI::App& command) {
    json below = json::array();
    for (const auto* one : commands_of(command)) {
        below.push_back(help_json(*one));
    }
    auto [examples, notes] = footer_parts(command.get_footer());
    return {{"command", full_name(command)},
            {"description", command.get_description()},
            {"usage", usage_of(command)},
            {"group", command.get_parent() == nullptr ? std::string() : command.get_group()},
            {"arguments", arguments_json(command)},
            {"options", options_json(command)},
            {"examples", std::move(examples)},
            {"notes", std::move(notes)},
            {"commands", std::move(below)}};
}

} // namespace dockdist
