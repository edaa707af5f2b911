#include "client/cli/line/completion.hpp"

#include "client/cli/line/read_line.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

namespace dockdist {
namespace {

constexpr std::size_t most_candidates = 500; // beyond it nobody reads them

// The shells take it as it is: a name out of a node's answer, or of somebody else's file, with `$(…)` in it
// would be run with the line that it completes.
bool is_plain_word(std::string_view word) {
    const auto plain = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte >= 0x80 || std::isalnum(byte) != 0 ||
               std::string_view("-_.,:/@%+=").find(c) != std::string_view::npos;
    };
    return !word.empty() && is_printable(word) && std::ranges::all_of(word, plain) && !word.starts_with('=');
}

// The help's first sentence.
std::string first_sentence(const std::string& text) {
    std::size_t end = text.size();
    for (const auto* const mark : {". ", ": ", "; ", " (", "\n"}) {
        end = std::min(end, text.find(mark));
    }
    return text.substr(0, end);
}

// Of "DURATION|off" the first.
bool is_placeholder(const std::string& word) {
    return std::isupper(static_cast<unsigned char>(word.front())) != 0;
}

class Completer {
public:
    Completer(const LineRead& line, std::string word, const KnownValues& known)
        : line_(line), word_(std::move(word)), known_(known) {}

    Completion complete() && {
        if (line_.waiting != nullptr) {
            add_values(placeholder(*line_.waiting), "");
        } else if (const auto equals = word_.find('=');
                   !line_.after_dashes && word_.starts_with("--") && equals != std::string::npos) {
            if (const auto* option = option_named(word_.substr(0, equals))) {
                add_values(placeholder(*option), word_.substr(0, equals + 1));
            }
        } else if (!line_.after_dashes && word_.starts_with('-')) {
            add_options();
        } else if (const auto commands = commands_of(*line_.command); !commands.empty()) {
            for (const auto* command : commands) {
                add(command->get_name(), first_sentence(command->get_description()));
            }
        } else {
            add_positional();
        }
        std::erase_if(found_.candidates, [&](const Candidate& one) { return !one.word.starts_with(word_); });
        if (found_.candidates.size() > most_candidates) {
            found_.candidates.resize(most_candidates);
        }
        return std::move(found_);
    }

private:
    void add(std::string word, std::string description = "") {
        found_.candidates.push_back({std::move(word), std::move(description)});
    }

    const CLI::Option* option_named(const std::string& name) const {
        for (const auto* option : options_of(*line_.command)) {
            if (shown_name(*option) == name) {
                return option;
            }
        }
        return nullptr;
    }

    void add_options() {
        for (const auto* option : options_of(*line_.command)) {
            if (!line_.values.contains(shown_name(*option)) || option->get_items_expected_max() > 1) {
                add(shown_name(*option), first_sentence(option->get_description()));
            }
        }
    }

    // What stands behind `--` is the user's own command.
    void add_positional() {
        const auto positionals = positionals_of(*line_.command);
        if (positionals.empty()) {
            return;
        }
        const auto last = positionals.size() - 1;
        if (line_.positionals > last && positionals[last]->get_items_expected_max() <= 1) {
            return;
        }
        add_values(placeholder(*positionals[std::min(line_.positionals, last)]), "");
    }

    std::vector<Candidate> known(const std::string& kind) const {
        for (const auto* const name : {"--file", "FILE"}) {
            if (const auto file = line_.values.find(name); file != line_.values.end()) {
                return known_(kind, file->second);
            }
        }
        return known_(kind, "");
    }

    // `front`: what stands in the word before the value.
    void add_values(const std::string& kind, std::string front) {
        if (kind.find('|') != std::string::npos) {
            for (const auto& word : split(kind, '|')) {
                if (!is_placeholder(word)) {
                    add(front + word);
                }
            }
        } else if (kind.starts_with("FILE") || kind == "COMMAND") {
            found_.files = Completion::Files::files;
        } else if (kind == "FOLDER") {
            found_.files = Completion::Files::folders;
        } else if (kind == "FROM" || kind == "TO") {
            add_places();
        } else {
            std::string named = ","; // before it in the list
            if (kind == "NODES" || kind == "HOSTS") {
                const auto comma = word_.find_last_of(',');
                if (comma != std::string::npos && comma >= front.size()) {
                    named += word_.substr(front.size(), comma + 1 - front.size());
                    front = word_.substr(0, comma + 1);
                }
            }
            for (auto& [word, description] : known(kind)) {
                if (named.find("," + word + ",") == std::string::npos) {
                    add(front + word, description);
                }
            }
        }
    }

    // `cp`'s: a node's, or a file here. `data` calls the places of its entries so, too.
    void add_places() {
        if (line_.command->get_name() != "cp") {
            for (auto& [word, description] : known("DATA")) {
                add(word, description);
            }
            return;
        }
        found_.files = Completion::Files::files;
        found_.goes_on = true;
        for (auto& [word, description] : known("NODE")) {
            add(word + ":", description);
        }
    }

    const LineRead& line_;
    std::string word_;
    const KnownValues& known_;
    Completion found_{};
};

} // namespace

std::string with_home(const std::string& path, const std::string& home) {
    for (const std::string_view name : {"~", "$HOME", "${HOME}"}) {
        if (path.starts_with(std::string(name) + "/")) {
            return home + path.substr(name.size());
        }
    }
    return path;
}

Completion complete_line(const CLI::App& program, std::string_view line, const KnownValues& known) {
    auto [words, begins] = shell_words(line);
    if (words.size() < 2) {
        return {};
    }
    auto word = std::move(words.back());
    words.pop_back();
    words.erase(words.begin());
    const auto read = read_line(program, words);
    return Completer(read, std::move(word), known).complete();
}

std::string completion_lines(const Completion& completion, std::string_view line, std::string_view breaks) {
    const auto [words, begins] = shell_words(line);
    const auto& word = words.back();
    const auto before = word.find_last_of(breaks);
    const auto cut = breaks.empty() || before == std::string::npos ? 0 : before + 1;
    std::string text;
    std::set<std::string> seen;
    for (const auto& candidate : completion.candidates) {
        if (!is_plain_word(candidate.word) || candidate.word.size() < cut ||
            !seen.insert(candidate.word).second) {
            continue;
        }
        text += candidate.word.substr(cut);
        text += candidate.description.empty() ? "" : "\t" + printable(candidate.description);
        text += "\n";
    }
    text += completion.files == Completion::Files::files     ? ":files"
            : completion.files == Completion::Files::folders ? ":folders"
                                                             : ":none";
    return text + (completion.goes_on ? " open\n" : "\n");
}

} // namespace dockdist
