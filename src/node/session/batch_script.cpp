#include "node/session/batch_script.hpp"

#include "node/system/os.hpp"
#include "node/system/paths.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <unistd.h>

namespace dockdist::node {
namespace {

constexpr std::string_view mark_of_line = "#SBATCH";
constexpr std::size_t longest_script_head = 65536;
constexpr std::array<std::string_view, 6> shells_of_scripts{"sh", "bash", "dash", "zsh", "ksh", "ash"};

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

std::vector<std::string> words_of_line(std::string_view line) {
    std::vector<std::string> words;
    bool inside = false;
    char quote = 0;
    for (const char c : line) {
        if (quote != 0 ? c == quote : c == '"' || c == '\'') {
            quote = quote != 0 ? '\0' : c;
            if (!inside) {
                words.emplace_back();
            }
            inside = true;
        } else if (quote == 0 && is_blank(c)) {
            inside = false;
        } else if (quote == 0 && c == '#' && !inside) {
            break;
        } else {
            if (!inside) {
                words.emplace_back();
            }
            inside = true;
            words.back() += c;
        }
    }
    return words;
}

// Where a shell's own options end; none where it is given no script.
std::optional<std::size_t> script_of_shell(const std::vector<std::string>& command) {
    for (std::size_t i = 1; i < command.size(); ++i) {
        const auto& word = command[i];
        if (word == "--" || word == "-") {
            return i + 1 < command.size() ? std::optional(i + 1) : std::nullopt;
        }
        if (word.empty() || (word.front() != '-' && word.front() != '+')) {
            return i;
        }
        if (word == "--rcfile" || word == "--init-file") {
            ++i;
        } else if (!word.starts_with("--")) {
            if (word.find_first_of("cs") != std::string::npos) {
                return std::nullopt;
            }
            i += word.find_first_of("oO") != std::string::npos ? 1 : 0;
        }
    }
    return std::nullopt;
}

} // namespace

std::vector<BatchLine> batch_lines(std::string_view script) {
    std::vector<BatchLine> lines;
    int number = 0;
    for (std::size_t begin = 0; begin < script.size();) {
        const auto end = std::min(script.find('\n', begin), script.size());
        auto line = script.substr(begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.starts_with(mark_of_line)) {
            line.remove_prefix(mark_of_line.size());
            if (auto words = words_of_line(line);
                !words.empty() && (is_blank(line.front()) || line.front() == '-')) {
                lines.push_back({.number = number, .words = std::move(words)});
            }
        } else if (const auto first = std::ranges::find_if_not(line, is_blank);
                   first != line.end() && *first != '#') {
            break;
        }
    }
    return lines;
}

std::string head_of_script(const std::string& path) {
    const auto file = open_regular(path);
    std::string head(longest_script_head, '\0');
    std::size_t size = 0;
    while (file && size < head.size()) {
        const auto count = ::read(file->get(), head.data() + size, head.size() - size);
        if (count <= 0) {
            break;
        }
        size += static_cast<std::size_t>(count);
    }
    head.resize(size);
    return head;
}

std::optional<std::size_t> find_batch_script(const std::vector<std::string>& command,
                                             const std::string& folder) {
    if (command.empty()) {
        return std::nullopt;
    }
    const auto program = std::string_view(command.front()).substr(command.front().rfind('/') + 1);
    const bool is_shell = std::ranges::find(shells_of_scripts, program) != shells_of_scripts.end();
    const auto at = is_shell ? script_of_shell(command) : std::optional<std::size_t>(0);
    if (!at || (!is_shell && command.front().find('/') == std::string::npos)) {
        return std::nullopt;
    }
    const auto& path = command[*at];
    const auto head = head_of_script(path.starts_with('/') || folder.empty() ? path : folder + "/" + path);
    return batch_lines(head).empty() || (!is_shell && !head.starts_with("#!")) ? std::nullopt : at;
}

std::vector<std::string> as_batch(std::vector<std::string> command) {
    if (find_batch_script(command)) {
        command.insert(command.begin(), {paths().own, batch_command});
    }
    return command;
}

} // namespace dockdist::node
