#include "client/cli/line/line_error.hpp"

#include "client/cli/line/help_text.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dockdist {
namespace {

Error usage_error(std::string where, std::string message, std::string hint) {
    return {ErrorKind::usage, std::move(where), std::move(message), std::move(hint)};
}

std::string see_help(const CLI::App& command) {
    const auto name = full_name(command);
    const auto space = name.find(' ');
    return space == std::string::npos ? "`dockdist help` shows the commands"
                                      : "`dockdist help" + name.substr(space) + "` shows what it takes";
}

std::string nearest_of(const std::string& word, const std::vector<std::string>& known) {
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    return nearest(word, candidates);
}

// What other tools call it.
constexpr auto words_of_others = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"cancel", "stop"},
    {"destroy", "down"},
    {"kill", "stop"},
    {"launch", "run"},
    {"nodes", "status"},
    {"ps", "jobs"},
    {"queue", "jobs"},
    {"rm", "down"},
    {"scancel", "stop"},
    {"shell", "ssh"},
    {"squeue", "jobs"},
    {"start", "up"},
    {"submit", "run --detach"},
});

// "--num-nodes" for --nodes.
std::string with_more_before(const std::string& word, const std::vector<std::string>& names) {
    const auto found = std::ranges::find_if(names, [&](const std::string& name) {
        return name.starts_with("--") &&
               (word.ends_with(name.substr(1)) || word.ends_with("_" + name.substr(2)) ||
                word == "--n" + name.substr(2));
    });
    return found == names.end() ? "" : *found;
}

// A command whose words were not kept apart by `--`.
bool runs_a_command(const CLI::App& command) {
    return std::ranges::any_of(positionals_of(command),
                               [](const auto* option) { return shown_name(*option) == "COMMAND"; });
}

Error no_option(const LineRead& line) {
    const auto& command = *line.without_it;
    std::vector<std::string> names;
    for (const auto* option : options_of(command)) {
        names.push_back(shown_name(*option));
    }
    auto meant = nearest_of(line.unknown_option, names);
    meant = meant.empty() ? with_more_before(line.unknown_option, names) : meant;
    const auto message = full_name(command) + " has no option " + printable(line.unknown_option) +
                         (meant.empty() ? "" : "; did you mean " + meant + "?");
    return usage_error("", message,
                       runs_a_command(command)
                           ? "what belongs to the command goes after `--`: " + usage_of(command)
                           : see_help(command));
}

} // namespace

Error no_command(const CLI::App& above, const std::string& word) {
    std::vector<std::string> names;
    for (const auto* command : commands_of(above)) {
        names.push_back(command->get_name());
    }
    const auto of_others =
        std::ranges::find(words_of_others, word, [](const auto& pair) { return pair.first; });
    const auto meant = above.get_parent() == nullptr && of_others != words_of_others.end()
                           ? std::string(of_others->second)
                           : nearest_of(word, names);
    const auto of = above.get_parent() == nullptr ? "" : " of `" + full_name(above) + "`";
    return usage_error("",
                       "there is no command " + printable(word) + of +
                           (meant.empty() ? "" : "; did you mean " + meant + "?"),
                       see_help(above));
}

std::optional<Error> mistake_in(const LineRead& line) {
    // An empty one is refused by its own name, as anywhere.
    if (!line.unknown_command.empty()) {
        return no_command(*line.command, line.unknown_command);
    }
    if (!line.unknown_option.empty()) {
        return no_option(line);
    }
    if (line.emptied != nullptr) {
        return usage_error(shown_name(*line.emptied), "must not be empty",
                           "give it a " + placeholder(*line.emptied) + ", or leave it out");
    }
    return std::nullopt;
}

Error line_error(const LineRead& line, const CLI::ParseError& refusal) {
    std::string text = refusal.what();
    if (line.waiting != nullptr) {
        return usage_error(shown_name(*line.waiting), "its value is missing",
                           "write " + shown_name(*line.waiting) + " " + placeholder(*line.waiting));
    }
    if (dynamic_cast<const CLI::RequiredError*>(&refusal) != nullptr) {
        if (!commands_of(*line.command).empty()) {
            return usage_error("",
                               "which command" + (line.command->get_parent() == nullptr
                                                      ? std::string("?")
                                                      : " of `" + full_name(*line.command) + "`?"),
                               see_help(*line.command));
        }
        const auto name = text.substr(0, text.find(' '));
        return usage_error("", full_name(*line.command) + " needs " + name, usage_of(*line.command));
    }
    if (dynamic_cast<const CLI::ExtrasError*>(&refusal) != nullptr) {
        auto words = split(text.substr(std::min(text.find(": "), text.size() - 2) + 2), ' ');
        std::ranges::reverse(words); // CLI11 keeps them so
        return usage_error(
            "", full_name(*line.command) + " takes no more arguments: " + printable(shell_join(words)),
            usage_of(*line.command));
    }
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&refusal) != nullptr) {
        const auto dashes = text.find("--");
        const auto name = dashes == std::string::npos ? text : text.substr(dashes);
        return usage_error(name.substr(0, name.find_first_of(" ,:")), "it is given more than once",
                           see_help(*line.command));
    }
    if (dynamic_cast<const CLI::ConversionError*>(&refusal) !=
        nullptr) { // `--flag=word`: all others are checked
        const auto name = text.substr(std::min(text.find("--"), text.size()));
        const auto flag = name.substr(0, name.find_first_of(" =:,"));
        return usage_error(flag, "it takes no value", "write " + flag + " alone, or leave it out");
    }
    if (dynamic_cast<const CLI::ExcludesError*>(&refusal) != nullptr) {
        const auto excludes = text.find(" excludes ");
        return usage_error("",
                           excludes == std::string::npos
                               ? text
                               : text.substr(0, excludes) + " and " + text.substr(excludes + 10) +
                                     " exclude each other",
                           "keep one of them");
    }
    if (dynamic_cast<const CLI::RequiresError*>(&refusal) != nullptr) {
        const auto requires_at = text.find(" requires ");
        return usage_error("",
                           requires_at == std::string::npos
                               ? text
                               : text.substr(0, requires_at) + " needs " + text.substr(requires_at + 10),
                           see_help(*line.command));
    }
    // "--gpus: abc is not …", and a hint where the value has one.
    const auto colon = text.find(": ");
    const auto newline = std::min(text.find('\n'), text.size());
    const auto where = colon < newline ? text.substr(0, colon) : "";
    const auto begin = colon < newline ? colon + 2 : 0;
    return usage_error(where, text.substr(begin, newline - begin),
                       newline < text.size() ? text.substr(newline + 1) : see_help(*line.command));
}

} // namespace dockdist
