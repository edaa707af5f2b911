#include "node/session/session.hpp"
#include "shared/core/text.hpp"
#include "shared/wire/job.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace dockdist::node {

void apply_account(Environment& environment, const Account& account) {
    const auto home = environment.get("HOME");
    if (!home || home->empty() || *home == "/" || (account.uid != 0 && *home == "/root")) {
        environment.set("HOME", account.home);
    }
    environment.set_default("USER", account.name);
    environment.set_default("LOGNAME", account.name);
    environment.set_default("SHELL", account.shell);
}

Environment session_environment(Environment container, const Environment& from_sshd, const Account& account,
                                const std::optional<JobPart>& part) {
    apply_account(container, account);
    for (const auto* name : {"SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "SSH_ORIGINAL_COMMAND"}) {
        container.unset(name);
        if (const auto value = from_sshd.get(name);
            value && std::string_view(name) != "SSH_ORIGINAL_COMMAND") {
            container.set(name, *value);
        }
    }
    if (const auto agent =
            from_sshd.get("SSH_AUTH_SOCK")) { // forwarded; where none is, the container's own stays
        container.set("SSH_AUTH_SOCK", *agent);
    }
    if (const auto terminal = from_sshd.get("TERM"); terminal && from_sshd.get("SSH_TTY")) {
        container.set("TERM", *terminal);
    }
    if (part) {
        apply_part(container, *part);
    } else if (const auto job = from_sshd.get(wire::job_mark); job && wire::is_job_id(*job)) {
        if (const auto packed = from_sshd.get(job_environment_variable)) {
            apply_packed(container, *packed);
            container.set(job_environment_variable, *packed);
        }
        container.set(wire::job_mark, *job);
    }
    return container;
}

std::vector<std::string> shell_argv(const std::string& shell, const std::string& command, bool output_kept) {
    const auto name = shell.substr(shell.rfind('/') + 1);
    if (command.empty()) {
        return {name}; // interactive, not a login shell: /etc/profile would reset PATH
    }
    const auto line = output_kept ? "exec 1>&" + std::to_string(kept_output) + " " +
                                        std::to_string(kept_output) + ">&-; " + command
                                  : command;
    if (name == "bash") {
        // Under sshd bash runs ~/.bashrc even for -c; `docker exec` does not.
        return {name, "--norc", "-c", line};
    }
    if (name == "csh" || name == "tcsh") {
        return {name, "-f", "-c", line}; // the same of ~/.cshrc
    }
    return {name, "-c", line};
}

bool can_keep_output(const std::string& shell) {
    constexpr std::array shells{"sh", "bash", "dash", "ash", "busybox", "ksh", "mksh", "zsh"};
    return std::ranges::find(shells, std::string_view(shell).substr(shell.rfind('/') + 1)) != shells.end();
}

std::optional<std::vector<std::string>> split_words(const std::string& command) {
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;
    for (std::size_t i = 0; i < command.size(); ++i) {
        const char c = command[i];
        if (c == ' ' || c == '\t' || c == '\n') {
            if (in_word) {
                words.push_back(std::move(word));
            }
            word.clear();
            in_word = false;
            continue;
        }
        in_word = true;
        if (c == '\'') {
            const auto end = command.find('\'', i + 1);
            if (end == std::string::npos) {
                return std::nullopt;
            }
            word += command.substr(i + 1, end - i - 1);
            i = end;
        } else if (c == '"') {
            for (++i; i < command.size() && command[i] != '"'; ++i) {
                if (command[i] == '$' || command[i] == '`') {
                    return std::nullopt;
                }
                if (command[i] == '\\' && i + 1 < command.size() &&
                    std::string_view("\\\"$`").find(command[i + 1]) != std::string_view::npos) {
                    ++i;
                }
                word += command[i];
            }
            if (i == command.size()) {
                return std::nullopt;
            }
        } else if (c == '\\') {
            if (++i == command.size()) {
                return std::nullopt;
            }
            word += command[i];
        } else if (std::string_view("$`|&;<>()*?[{~#").find(c) != std::string_view::npos) {
            return std::nullopt;
        } else {
            word += c;
        }
    }
    if (in_word) {
        words.push_back(std::move(word));
    }
    return words;
}

} // namespace dockdist::node
