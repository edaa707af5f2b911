#include "client/spec/inventory_builder.hpp"
#include "shared/core/text.hpp"

#include <algorithm>

namespace dockdist {
namespace {

// Words as Ansible's shlex takes them: blanks separate, quotation marks hold together, `#` ends the line.
std::optional<std::vector<std::string>> shell_words(std::string_view line) {
    std::vector<std::string> words;
    char quote = 0;
    bool in_word = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        const bool blank = c == ' ' || c == '\t' || c == '\r';
        if (quote == 0 && (blank || (c == '#' && !in_word))) {
            in_word = false;
            if (c == '#') {
                break;
            }
            continue;
        }
        if (!in_word) {
            words.emplace_back();
            in_word = true;
        }
        if (quote == 0 && (c == '"' || c == '\'')) {
            quote = c;
        } else if (c == quote) {
            quote = 0;
        } else {
            words.back() += c;
        }
    }
    return quote == 0 ? std::optional(words) : std::nullopt;
}

std::pair<std::string, std::string> halves(const std::string& text) {
    const auto trimmed = [](std::string_view part) { return std::string(bare_line(part)); };
    const auto equals = std::min(text.find('='), text.size());
    return {trimmed(std::string_view(text).substr(0, equals)),
            equals == text.size() ? "" : trimmed(std::string_view(text).substr(equals + 1))};
}

class IniReader {
public:
    Result<InventoryBuilder> read(std::string_view text) {
        std::size_t number = 0;
        for (const auto& line : split(text, '\n')) {
            ++number;
            const auto first = line.find_first_not_of(" \t\r");
            if (first == std::string::npos || line[first] == '#' || line[first] == ';') {
                continue;
            }
            auto done =
                line[first] == '[' && is_heading(line) ? begin_section(bare_line(line)) : read_line(line);
            if (!done) {
                return list_error(number, done.error().message, done.error().hint);
            }
        }
        return std::move(builder_);
    }

private:
    enum class Section { hosts, variables, children };

    // "[gpu]", and not a host that is a range: "[1:4].lab".
    static bool is_heading(const std::string& line) {
        const auto bare = bare_line(line);
        return bare.find(']') == bare.size() - 1 &&
               (bare.find(':') == std::string_view::npos || bare.ends_with(":vars]") ||
                bare.ends_with(":children]"));
    }

    Status begin_section(std::string_view heading) {
        const std::string name(heading.substr(1, heading.size() - 2));
        const auto colon = std::min(name.find(':'), name.size());
        const auto kind = name.substr(colon);
        section_ = kind.empty() ? Section::hosts : kind == ":vars" ? Section::variables : Section::children;
        if (colon == 0) {
            return list_error(0, "`" + printable(heading) + "` does not name a group");
        }
        group_ = builder_.group(name.substr(0, colon));
        return ok;
    }

    Status read_line(const std::string& line) {
        if (section_ == Section::variables) { // the rest of the line is the value, blanks and all
            auto [name, value] = halves(line);
            if (value.size() > 1 && (value.front() == '"' || value.front() == '\'') &&
                value.back() == value.front()) {
                value = value.substr(1, value.size() - 2);
            }
            builder_.variables_of_group(group_)[name] = value;
            return ok;
        }
        const auto words = shell_words(line);
        if (!words || words->empty()) {
            return list_error(0, "a quotation mark is not closed");
        }
        if (section_ == Section::children) {
            builder_.add_child(group_, builder_.group(words->front()));
            return ok;
        }
        return read_hosts(*words);
    }

    Status read_hosts(const std::vector<std::string>& words) {
        const auto names = expand_ansible_range(words.front());
        TRY(names);
        for (const auto& name : *names) {
            const auto host = builder_.host_with_port(name);
            builder_.add_host(group_, host);
            for (auto word = words.begin() + 1; word != words.end(); ++word) {
                auto [variable, value] = halves(*word);
                if (value.empty() && word->find('=') == std::string::npos) {
                    return list_error(0, "`" + printable(*word) + "` after a host is not NAME=VALUE");
                }
                builder_.variables_of_host(host)[variable] = value;
            }
        }
        return ok;
    }

    InventoryBuilder builder_{};
    Section section_ = Section::hosts;
    std::size_t group_ = builder_.group("ungrouped");
};

} // namespace

Result<InventoryBuilder> read_ansible_ini(std::string_view text) {
    return IniReader().read(text);
}

} // namespace dockdist
