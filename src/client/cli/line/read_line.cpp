#include "client/cli/line/read_line.hpp"

#include <algorithm>

namespace dockdist {
namespace {

const CLI::App* command_named(const CLI::App& above, const std::string& name) {
    const auto found = above.get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
    return found.empty() ? nullptr : found.front();
}

class LineReader {
public:
    explicit LineReader(const CLI::App& program) { read_.command = &program; }

    void take(const std::string& word) {
        const bool has_commands = !commands_of(*read_.command).empty();
        if (!read_.after_dashes && word == "--") {
            if (read_.waiting != nullptr && read_.emptied == nullptr) {
                read_.emptied = read_.waiting;
            }
            read_.waiting = nullptr;
            read_.after_dashes = true;
        } else if (read_.waiting != nullptr) {
            read_.values[shown_name(*read_.waiting)] = word;
            read_.waiting = nullptr;
        } else if (!read_.after_dashes && word.size() > 1 && word.front() == '-') {
            take_option(word);
        } else if (!read_.after_dashes && has_commands) {
            take_command(word);
        } else {
            take_positional(word);
        }
    }

    LineRead read() && { return std::move(read_); }

private:
    void take_option(const std::string& word) {
        const bool long_one = word.starts_with("--");
        const auto equals = long_one ? word.find('=') : std::string::npos;
        const auto name = long_one ? word.substr(0, equals) : word.substr(0, 2);
        const auto* option = option_named(*read_.command, name);
        if (option == nullptr) {
            if (read_.unknown_option.empty()) {
                read_.unknown_option = name;
                read_.without_it = read_.command;
            }
        } else if (!takes_value(*option)) {
            return;
        } else if (equals != std::string::npos) {
            read_.values[shown_name(*option)] = word.substr(equals + 1);
            if (equals + 1 == word.size() && read_.emptied == nullptr) {
                read_.emptied = option;
            }
        } else if (!long_one && word.size() > 2) {
            read_.values[shown_name(*option)] = word.substr(2);
        } else {
            read_.waiting = option;
        }
    }

    // Behind a command that is none nothing is known; behind an option that is none the word may be its
    // value.
    void take_command(const std::string& word) {
        if (!read_.unknown_command.empty()) {
            return;
        }
        if (const auto* command = command_named(*read_.command, word)) {
            read_.command = command;
            read_.positionals = 0;
        } else if (read_.unknown_option.empty()) {
            read_.unknown_command = word;
        }
    }

    void take_positional(const std::string& word) {
        if (const auto known = positionals_of(*read_.command); read_.positionals < known.size()) {
            read_.values[shown_name(*known[read_.positionals])] = word;
        }
        ++read_.positionals;
    }

    LineRead read_{};
};

} // namespace

const CLI::Option* option_named(const CLI::App& command, const std::string& name) {
    for (const auto* app = &command; app != nullptr; app = app->get_parent()) {
        if (const auto* option = app->get_option_no_throw(name);
            option != nullptr && option->nonpositional()) {
            return option;
        }
    }
    return nullptr;
}

LineRead read_line(const CLI::App& program, std::span<const std::string> words) {
    LineReader reader(program);
    for (const auto& word : words) {
        reader.take(word);
    }
    return std::move(reader).read();
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
    std::vector<const CLI::Option*> options;
    for (const auto* app = &command; app != nullptr; app = app->get_parent()) {
        for (const auto* option : app->get_options(
                 [](const CLI::Option* one) { return one->nonpositional() && !one->get_group().empty(); })) {
            const bool known = std::ranges::any_of(
                options, [&](const auto* other) { return shown_name(*other) == shown_name(*option); });
            if (!known && (app == &command || option->get_name() != "--version")) {
                options.push_back(option);
            }
        }
    }
    return options;
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& command) {
    return command.get_options([](const CLI::Option* one) { return one->get_positional(); });
}

std::vector<const CLI::App*> commands_of(const CLI::App& command) {
    return command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

bool takes_value(const CLI::Option& option) {
    return option.get_items_expected_max() > 0;
}

std::string shown_name(const CLI::Option& option) {
    if (option.get_positional() && !option.nonpositional()) {
        return option.get_name(true, false);
    }
    const auto& names = option.get_lnames();
    return names.empty() ? "-" + option.get_snames().front() : "--" + names.front();
}

std::string placeholder(const CLI::Option& option) {
    const auto name = option.get_type_name();
    if (option.get_positional() && !option.nonpositional() && (name.empty() || name == "TEXT")) {
        return option.get_name(true, false);
    }
    return name == "INT" || name == "UINT" || name == "FLOAT" ? "N" : name;
}

std::string full_name(const CLI::App& command) {
    return command.get_parent() == nullptr ? command.get_name()
                                           : full_name(*command.get_parent()) + " " + command.get_name();
}

ShellWords shell_words(std::string_view line) {
    ShellWords found;
    std::string word;
    bool inside = false; // of a word
    char quote = '\0';
    std::size_t begin = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
            if (inside) {
                found.words.push_back(std::move(word));
                found.begins.push_back(begin);
                word.clear();
            }
            inside = false;
            continue;
        }
        begin = inside ? begin : i;
        inside = true;
        if (quote != '\0' && c == quote) {
            quote = '\0';
        } else if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
            word += line[++i];
        } else {
            word += c;
        }
    }
    found.words.push_back(std::move(word));
    found.begins.push_back(inside ? begin : line.size());
    return found;
}

} // namespace dockdist
