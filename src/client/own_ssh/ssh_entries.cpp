#include "client/own_ssh/ssh_entries.hpp"

#include "shared/core/ascii.hpp"
#include "shared/core/text.hpp"
#include "shared/core/trimmed.hpp"
#include "shared/keys/ssh_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dockdist {
namespace {

constexpr std::string_view include_remark =
    "# dockdist's: `dockdist ssh-config --remove` takes it out with the last cluster";
constexpr std::string_view host_word = "Host ";
constexpr std::string_view file_remark = "# dockdist: cluster ";
constexpr std::string_view machine_remark = "# machine: ";
constexpr std::string_view prefix_remark = "# prefix: ";

// ssh expands % in these.
std::string doubled(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += c == '%' ? "%%" : std::string(1, c);
    }
    return out;
}

std::string single(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        i += text.substr(i).starts_with("%%") ? 1 : 0;
        out += text[i];
    }
    return out;
}

// Of the command line that is `proxy`.
std::string file_words(const std::string& file) {
    return " -f " + shell_quote(file) + " proxy ";
}

Error cannot_stand(const std::string& text, const std::string& hint) {
    return {ErrorKind::config, "", "ssh's configuration cannot hold `" + printable(text) + "`", hint};
}

// An argument of a keyword: in quotes, which ssh does not let a path have, nor what it takes for a variable.
Result<std::string> quoted_path(const std::string& path) {
    if (path.find_first_of("\"\\\n\r") != std::string::npos || path.find("${") != std::string::npos) {
        return cannot_stand(path,
                            "set XDG_STATE_HOME to a folder without quotes, backslashes and ${ in its name");
    }
    return "\"" + doubled(path) + "\"";
}

bool has_line_end(std::string_view text) {
    return text.find_first_of("\n\r") != std::string_view::npos || text.find('\0') != std::string_view::npos;
}

bool is_account_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && name.front() != '-' && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-' || c == '.';
    });
}

std::vector<std::string> lines_of(std::string_view text) {
    auto lines = split(text, '\n');
    if (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
    return lines;
}

std::string include_line(const std::string& pattern) {
    return "Include " + pattern;
}

// ssh_config(5): in any case, and before blanks or a '='.
std::string keyword_of(std::string_view words) {
    return to_lower(words.substr(0, words.find_first_of(" \t=")));
}

} // namespace

Result<EntriesText> ssh_entries(const SshEntries& entries) {
    const auto key = quoted_path(entries.key);
    const auto known_hosts = quoted_path(entries.known_hosts);
    if (!key || !known_hosts) {
        return key ? known_hosts.error() : key.error();
    }
    auto words = entries.environment;
    words.push_back(entries.program);
    // ssh gives it, behind `exec`, to the user's shell.
    const auto command =
        (entries.environment.empty() ? "" : "env ") + shell_join(words) + file_words(entries.file);
    words.push_back(entries.file);
    if (const auto word = std::ranges::find_if(words, has_line_end); word != words.end()) {
        return cannot_stand(*word, "it must be without line ends");
    }
    if (entries.program.find('=') != std::string::npos) { // env would set a variable
        return cannot_stand(entries.program, "call dockdist by a path without `=`");
    }
    EntriesText made{
        .text = fmt::format("{}{} of {}\n"
                            "{}{}\n"
                            "{}{}\n"
                            "# Made by `dockdist ssh-config`, and where it is installed made again when the "
                            "cluster changes: what you add here is lost.\n"
                            "# Anywhere else it belongs before all other Host and Match lines: ssh takes the "
                            "first value that it finds.\n",
                            file_remark, entries.cluster, printable(entries.file), machine_remark,
                            printable(entries.machine), prefix_remark, entries.prefix)};
    for (const auto& node : entries.nodes) {
        if (!is_plain_name(node.node) || !is_account_name(node.user) || !is_ed25519_key(node.host_key)) {
            made.refused.push_back({ErrorKind::protocol, printable(node.node),
                                    "the node reports an invalid user or host key",
                                    "`dockdist up` rewrites its record"});
            continue;
        }
        made.nodes.push_back(node);
        // No keyword that an ssh since 7.3 (Include) does not know: one such, and it refuses to go anywhere.
        made.text += fmt::format(R"(
Host {0}
    HostName {0}
    HostKeyAlias {1}
    User {2}
    ProxyCommand {3}{1}
    IdentityFile {4}
    IdentitiesOnly yes
    AddKeysToAgent no
    ForwardAgent no
    PubkeyAuthentication yes
    PreferredAuthentications publickey
    UserKnownHostsFile {5}
    GlobalKnownHostsFile none
    HostKeyAlgorithms ssh-ed25519
    StrictHostKeyChecking yes
    UpdateHostKeys no
    CanonicalizeHostname no
    ServerAliveInterval 15
    ServerAliveCountMax 4
)",
                                 entries.prefix + "." + node.node, node.node, node.user, doubled(command),
                                 *key, *known_hosts);
    }
    return made;
}

EntriesOrigin entries_origin(std::string_view text) {
    constexpr std::string_view of_word = " of ";
    constexpr std::string_view key_word = "    IdentityFile \"";
    EntriesOrigin origin;
    for (const auto& line : lines_of(text)) {
        if (line.starts_with(prefix_remark)) {
            origin.prefix = line.substr(prefix_remark.size());
        } else if (line.starts_with(machine_remark)) {
            origin.machine = line.substr(machine_remark.size());
        } else if (line.starts_with(file_remark)) {
            const auto of = line.find(of_word, file_remark.size());
            origin.file = of == std::string::npos ? "" : line.substr(of + of_word.size());
        } else if (line.starts_with(key_word) && line.ends_with('"')) {
            origin.key = single(line.substr(key_word.size(), line.size() - key_word.size() - 1));
            break;
        }
    }
    // Where the remark shows it in another way than it is written.
    if (text.find(doubled(file_words(origin.file))) == std::string_view::npos) {
        origin.file.clear();
    }
    return origin;
}

std::vector<std::string> entry_names(std::string_view text) {
    std::vector<std::string> names;
    for (const auto& line : lines_of(text)) {
        if (line.starts_with(host_word)) {
            names.emplace_back(trimmed(std::string_view(line).substr(host_word.size())));
        }
    }
    return names;
}

Result<std::string> with_host_key(std::string_view known_hosts, const std::string& node,
                                  const std::string& host_key) {
    if (!is_plain_name(node) || !is_ed25519_key(host_key)) {
        return Error{ErrorKind::protocol, printable(node), "the node reports an invalid host key",
                     "`dockdist up` rewrites its record"};
    }
    const auto wanted = node + " " + host_key;
    std::string text;
    bool there = false;
    for (const auto& line : lines_of(known_hosts)) {
        if (line == wanted && !there) {
            there = true;
        } else if (line.starts_with(node + " ")) {
            continue;
        }
        text += line + "\n";
    }
    return there ? text : text + wanted + "\n";
}

std::optional<std::string> with_include(std::string_view config, const std::string& pattern) {
    for (const auto& line : lines_of(config)) {
        const auto words = trimmed(line);
        if (words == include_line(pattern)) {
            return std::nullopt;
        }
        if (!words.empty() && words.front() != '#' && keyword_of(words) != "include") {
            break; // further down it would be of no use, or come second
        }
    }
    return fmt::format("{}\n{}\n{}{}", include_remark, include_line(pattern), config.empty() ? "" : "\n",
                       config);
}

std::optional<std::string> without_include(std::string_view config, const std::string& pattern) {
    std::string text;
    bool found = false;
    bool blank = false;    // the line behind it was ours as well
    std::string_view held; // our remark: the line behind it is ours
    std::size_t begin = 0;
    while (begin < config.size()) {
        const auto end = std::min(config.find('\n', begin), config.size() - 1);
        const auto line = config.substr(begin, end + 1 - begin);
        begin = end + 1;
        const auto words = trimmed(line.substr(0, line.find('\n')));
        if (words == include_remark) {
            held = line;
        } else if (words == include_line(pattern) && !held.empty()) {
            held = {};
            found = blank = true;
        } else if (!(std::exchange(blank, false) && words.empty())) {
            text += std::string(std::exchange(held, {})) + std::string(line);
        }
    }
    text += held;
    return found ? std::optional(std::move(text)) : std::nullopt;
}

} // namespace dockdist
