#include "client/cli/line/help_text.hpp"

#include "client/cli/line/read_line.hpp"
#include "client/report/display_text.hpp"
#include "client/report/error_text.hpp"
#include "client/report/table.hpp"
#include "shared/core/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unistd.h>
#include <utility>
#include <vector>

namespace dockdist {
namespace {

constexpr std::size_t page_width = 80;   // of what is no terminal
constexpr std::size_t widest_page = 110; // lines that are longer are hard to read
constexpr std::size_t least_description = 28;
constexpr std::size_t list_indent = 2;
constexpr std::string_view joint = "\u00A0"; // a space at which no table breaks a line

std::string replaced(std::string text, std::string_view old, std::string_view fresh) {
    for (auto at = text.find(old); at != std::string::npos; at = text.find(old, at + fresh.size())) {
        text.replace(at, old.size(), fresh);
    }
    return text;
}

std::vector<std::string> quoted_words(std::string_view line) {
    std::vector<std::string> words(1);
    bool quoted = false;
    for (const char c : line) {
        quoted = (c == '\'') != quoted;
        if (c == ' ' && !quoted) {
            words.emplace_back();
        } else {
            words.back() += c;
        }
    }
    std::erase(words, "");
    return words;
}

// A line to copy: where it is too long for the terminal, it goes on behind a backslash, and what is said of
// it stands above.
std::string example_text(std::string_view line, std::size_t columns) {
    if (columns == 0 || display_width(line) <= columns) {
        return std::string(line) + "\n";
    }
    const std::string indent(std::min(line.find_first_not_of(' '), line.size()), ' ');
    const auto command = line.substr(0, line.find("  # "));
    std::string text;
    if (command.size() < line.size()) {
        text = wrap_words(indent + std::string(line.substr(command.size() + 2)) + "\n", columns,
                          indent.size() + 2);
    }
    auto now = indent;
    bool first = true;
    for (const auto& word : quoted_words(command)) {
        constexpr std::string_view goes_on = " \\\n";
        if (!first && display_width(now) + 1 + display_width(word) + goes_on.size() - 1 > columns) {
            text += now + std::string(goes_on);
            now = indent + "   ";
        }
        now += (first ? "" : " ") + word;
        first = false;
    }
    return text + now + "\n";
}

// Names with what they are, below a heading; empty without any.
class Section {
public:
    explicit Section(std::string heading) : heading_(std::move(heading)) {}

    void add(std::string name, std::string text) { table_.add_row({std::move(name), std::move(text)}); }
    void add_example(const std::string& line) { add("", replaced("$ " + line, " ", joint)); }

    std::string text(OutputTraits output) const {
        if (table_.empty()) {
            return "";
        }
        const auto whole = output.columns;
        auto text =
            "\n" + wrap_words(styled(heading_ + ":", style::bold, output.colour), output.columns, 0) + "\n";
        if (output.columns > list_indent) {
            output.columns -= list_indent;
        }
        const auto rows = table_.to_text(std::numeric_limits<std::size_t>::max(), output);
        for (const auto& line : split(rows.substr(0, rows.size() - 1), '\n')) {
            const auto shown = (line.empty() ? "" : std::string(list_indent, ' ')) + line;
            text += line.find(joint) == std::string::npos ? shown + "\n"
                                                          : example_text(replaced(shown, joint, " "), whole);
        }
        return text;
    }

private:
    std::string heading_;
    Table table_{{{.title = ""}, {.title = "", .narrow = Narrow::wrap, .least = least_description}}};
};

std::string names_of(const std::set<CLI::Option*>& options) {
    std::vector<std::string> names;
    for (const auto* option : options) {
        if (!option->get_positional()) { // of commands further down, where `option` is the program's own
            names.push_back(shown_name(*option));
        }
    }
    std::ranges::sort(names);
    return fmt::format("{}", fmt::join(names, ", "));
}

// Without what is said of it behind a `#`.
std::string first_example(const CLI::App& command) {
    for (const auto& line : split(command.get_footer(), '\n')) {
        if (line.starts_with("  ")) {
            const auto example = line.substr(list_indent, line.find("  #") - list_indent);
            return example.substr(0, example.find_last_not_of(' ') + 1);
        }
    }
    return "";
}

// What a command is for, and how it is called.
std::string head_of(const CLI::App& command, const OutputTraits& output) {
    const auto description = command.get_description() + "\n\n";
    return wrap_words(output.ascii_only() ? ascii_signs(description) : description, output.columns, 0) +
           laid_out("Usage: " + usage_of(command) + "\n", output);
}

// The groups in the order in which the program's commands name them.
std::string command_sections(const CLI::App& above, const OutputTraits& output, bool examples) {
    std::vector<std::pair<std::string, Section>> sections;
    for (const auto* command : commands_of(above)) {
        // Commands of a command have its group, by CLI11.
        const auto group = above.get_parent() == nullptr ? command->get_group() : "Commands";
        auto section = std::ranges::find(sections, group, &std::pair<std::string, Section>::first);
        if (section == sections.end()) {
            section = sections.insert(section, {group, Section(group)});
        }
        section->second.add(command->get_name(), command->get_description());
        if (const auto example = first_example(*command); examples && !example.empty()) {
            section->second.add_example(example);
        }
    }
    std::string text;
    for (const auto& [group, section] : sections) {
        text += section.text(output);
    }
    return text;
}

} // namespace

bool is_help(const CLI::Option& option) {
    return option.get_name() == "--help";
}

std::string option_head(const CLI::App& command, const CLI::Option& option) {
    std::string head;
    for (const auto& name : option.get_snames()) {
        if (option_named(command, "-" + name) == &option) {
            head += "-" + name + ", ";
        }
    }
    head += shown_name(option);
    return takes_value(option) ? head + " " + placeholder(option) : head;
}

std::string option_words(const CLI::Option& option) {
    auto text = option.get_description();
    if (takes_value(option) && !option.get_default_str().empty()) {
        text += fmt::format(" (default: {})", option.get_default_str());
    }
    if (!option.get_needs().empty()) {
        text += fmt::format(" (with {})", names_of(option.get_needs()));
    }
    if (const auto names = names_of(option.get_excludes()); !names.empty()) {
        text += fmt::format(" (not with {})", names);
    }
    return text;
}

std::string usage_of(const CLI::App& command) {
    auto usage = full_name(command);
    if (command.get_parent() == nullptr) {
        return usage + " [-f FILE] [-o text|json] COMMAND";
    }
    const auto own = command.get_options([](const CLI::Option* one) {
        return one->nonpositional() && !one->get_group().empty() && !is_help(*one);
    });
    usage += own.empty() ? "" : " [OPTIONS]";
    if (!commands_of(command).empty()) {
        return usage + " COMMAND";
    }
    for (const auto* option : positionals_of(command)) {
        const bool many = option->get_items_expected_max() > 1;
        const bool is_command = shown_name(*option) == "COMMAND";
        const auto name = (is_command ? "-- " : "") + shown_name(*option) + (many ? "..." : "");
        usage += option->get_required() ? " " + name : " [" + name + "]";
    }
    return usage;
}

std::string help_text(const CLI::App& command, const OutputTraits& output) {
    const bool is_program = command.get_parent() == nullptr;
    auto text = head_of(command, output);
    Section positionals("Arguments");
    for (const auto* option : positionals_of(command)) {
        positionals.add(shown_name(*option), option_words(*option));
    }
    Section own("Options");
    Section everywhere("Options of every command");
    const auto of_command = command.get_options([](const CLI::Option*) { return true; });
    for (const auto* option : options_of(command)) {
        const bool is_own = std::ranges::find(of_command, option) != of_command.end();
        (is_own && !is_program && !is_help(*option) ? own : everywhere)
            .add(option_head(command, *option), option_words(*option));
    }
    text += positionals.text(output) + command_sections(command, output, is_program);
    text += own.text(output) + everywhere.text(output);
    if (const auto footer = command.get_footer(); !footer.empty()) {
        const auto end = std::min(footer.find("\n\n"), footer.size()); // of the lines to copy
        text += "\n";
        for (const auto& line : split(footer.substr(0, end), '\n')) {
            text += example_text(line, output.columns);
        }
        text += end < footer.size() ? laid_out(footer.substr(end + 1) + "\n", output) : "";
    }
    return text;
}

std::string short_help(const CLI::App& program, const OutputTraits& output) {
    return head_of(program, output) + command_sections(program, output, false) + "\n" +
           laid_out("`dockdist help` shows an example of each, `dockdist help COMMAND` all of one.\n"
                    "The first steps: dockdist init, dockdist up, dockdist run -- COMMAND\n",
                    output);
}

OutputTraits help_output() {
    auto output = probe_output(STDOUT_FILENO);
    output.columns = output.columns == 0 ? page_width : std::min(output.columns, widest_page);
    output.unicode = output.unicode || probe_output(STDOUT_FILENO).columns == 0;
    return output;
}

std::string HelpFormatter::make_help(const CLI::App* command, std::string, CLI::AppFormatMode) const {
    return help_text(*command, help_output());
}

} // namespace dockdist
