#include "client/engine/transport/ssh/settings.hpp"

#include "client/async/child_process.hpp"
#include "client/engine/transport/ssh/commons.hpp"
#include "client/engine/transport/ssh/keywords.hpp"
#include "shared/core/account.hpp"
#include "shared/core/ascii.hpp"
#include "shared/core/number.hpp"
#include "shared/core/text.hpp"
#include "shared/core/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <unistd.h>

namespace dockdist {
namespace {

using std::chrono::seconds;

// Keys in lower case, as ssh prints nearly all of them; a key may stand there several times.
using Lines = std::multimap<std::string, std::string, std::less<>>;

Lines read_lines(std::string_view text) {
    Lines lines;
    for (auto line : split(text, '\n')) {
        if (line.ends_with('\r')) {
            line.pop_back();
        }
        if (const auto space = line.find(' '); space != std::string::npos && space + 1 < line.size()) {
            lines.emplace(to_lower(line.substr(0, space)), line.substr(space + 1));
        }
    }
    return lines;
}

std::string value(const Lines& lines, std::string_view key) {
    const auto found = lines.find(key);
    return found == lines.end() || found->second == "none" ? std::string() : found->second;
}

std::optional<int> number(const Lines& lines, std::string_view key) {
    return whole_number<int>(value(lines, key));
}

class Expander {
public:
    Expander(const SshSettings& settings, const SshSurroundings& surroundings)
        : settings_(settings), surroundings_(surroundings) {}

    std::string path(std::string_view text) const {
        auto full = text == "~" || text.starts_with("~/") ? surroundings_.home + std::string(text.substr(1))
                                                          : std::string(text);
        return variables(tokens(full));
    }

    // TOKENS of ssh_config(5) that make sense before there is a connection.
    std::string tokens(std::string_view text) const {
        std::string out;
        for (std::size_t i = 0; i < text.size(); ++i) {
            if (text[i] != '%' || i + 1 == text.size()) {
                out += text[i];
                continue;
            }
            const char token = text[++i];
            const auto meaning = token_value(token);
            out += meaning ? *meaning : std::string{'%', token};
        }
        return out;
    }

    std::string variables(std::string_view text) const {
        std::string out;
        while (!text.empty()) {
            const auto begin = text.find("${");
            const auto end = begin == std::string_view::npos ? begin : text.find('}', begin);
            if (end == std::string_view::npos) {
                break;
            }
            out += text.substr(0, begin);
            out += surroundings_.environment(std::string(text.substr(begin + 2, end - begin - 2)))
                       .value_or(std::string());
            text.remove_prefix(end + 1);
        }
        return out + std::string(text);
    }

private:
    std::optional<std::string> token_value(char token) const {
        switch (token) {
        case '%':
            return "%";
        case 'h':
            return settings_.host;
        case 'k':
            return settings_.host_key_alias.empty() ? settings_.alias : settings_.host_key_alias;
        case 'n':
            return settings_.alias;
        case 'p':
            return std::to_string(settings_.port.number);
        case 'r':
            return settings_.user;
        case 'd':
            return surroundings_.home;
        case 'u':
            return surroundings_.user;
        case 'i':
            return std::to_string(::getuid());
        default:
            return std::nullopt;
        }
    }

    const SshSettings& settings_;
    const SshSurroundings& surroundings_;
};

// "a,ops@b:2222" → ssh -J a -l ops -p 2222 -W '[host]:port' b. A word of the jump list that could be read as
// an option comes behind `--`.
std::vector<std::string> jump_command(const SshSettings& settings, std::string_view jumps) {
    std::vector<std::string> command{"ssh"};
    if (const auto comma = jumps.rfind(','); comma != std::string_view::npos) {
        command.insert(command.end(), {"-J", std::string(jumps.substr(0, comma))});
        jumps.remove_prefix(comma + 1);
    }
    command.insert(command.end(), {"-W", fmt::format("[{}]:{}", settings.host, settings.port.number)});
    if (jumps.starts_with("ssh://")) {
        command.insert(command.end(), {"--", std::string(jumps)});
        return command;
    }
    if (const auto at = jumps.rfind('@'); at != std::string_view::npos) {
        command.insert(command.end(), {"-l", std::string(jumps.substr(0, at))});
        jumps.remove_prefix(at + 1);
    }
    const bool bracketed = jumps.starts_with('[');
    const auto colon = bracketed ? jumps.find("]:") : jumps.find(':');
    if (colon != std::string_view::npos && (bracketed || std::ranges::count(jumps, ':') == 1)) {
        const auto host_size = bracketed ? colon + 1 : colon;
        command.insert(command.end(), {"-p", std::string(jumps.substr(host_size + 1))});
        jumps = jumps.substr(0, host_size);
    }
    if (jumps.starts_with('[') && jumps.ends_with(']')) {
        jumps = jumps.substr(1, jumps.size() - 2);
    }
    command.insert(command.end(), {"--", std::string(jumps)});
    return command;
}

// IdentityAgent: a path, the name of a variable ("$NAME" or SSH_AUTH_SOCK), or "none".
std::string agent_socket(const Lines& lines, const Expander& expand, const SshSurroundings& surroundings) {
    const auto found = lines.find("identityagent");
    const auto text = found == lines.end() ? "SSH_AUTH_SOCK" : found->second;
    if (text == "none") {
        return {};
    }
    if (text == "SSH_AUTH_SOCK" || (text.starts_with('$') && !text.starts_with("${"))) {
        return surroundings.environment(text.starts_with('$') ? text.substr(1) : text)
            .value_or(std::string());
    }
    return expand.path(text);
}

SshAlgorithms algorithms(const Lines& lines) {
    SshAlgorithms allowed;
    const auto take = [&](std::string_view key, std::vector<std::string>& names) {
        if (const auto list = value(lines, key); !list.empty()) {
            names = split(list, ',');
        }
    };
    take("kexalgorithms", allowed.key_exchange);
    take("ciphers", allowed.ciphers);
    take("macs", allowed.macs);
    take("hostkeyalgorithms", allowed.host_keys);
    take("pubkeyacceptedkeytypes", allowed.user_keys); // before OpenSSH 8.5
    take("pubkeyacceptedalgorithms", allowed.user_keys);
    allowed.rsa_bits = number(lines, "requiredrsasize").value_or(allowed.rsa_bits);
    return allowed;
}

// Where a blank may be part of a name: ssh prints lists of files without quotes.
bool is_ambiguous(std::string_view files) {
    const auto words = split(files, ' ');
    return std::ranges::any_of(words.begin() + 1, words.end(), [](const std::string& word) {
        return !word.starts_with('/') && !word.starts_with('~');
    });
}

std::string beyond(const Lines& lines) {
    for (const auto& [key, text] : lines) {
        const auto meaning = ssh_keyword(key);
        const bool out_of_reach =
            key == "pubkeyauthentication"       ? switches_off(text)
            : key == "preferredauthentications" ? std::ranges::count(split(text, ','), "publickey") == 0
            : key == "userknownhostsfile" || key == "globalknownhostsfile"
                ? is_ambiguous(text)
                : (meaning == SshKeyword::beyond || meaning == SshKeyword::unknown) && !switches_off(text);
        if (out_of_reach) {
            return key + " " + text;
        }
    }
    return "";
}

std::vector<std::string> other_logins(const Lines& lines) {
    std::vector<std::string> methods;
    const auto add = [&](const char* method, std::string_view key) {
        if (value(lines, key) == "yes") {
            methods.emplace_back(method);
        }
    };
    add("gssapi-with-mic", "gssapiauthentication");
    add("hostbased", "hostbasedauthentication");
    if (value(lines, "batchmode") != "yes") {
        add("keyboard-interactive", "kbdinteractiveauthentication");
        add("keyboard-interactive", "challengeresponseauthentication"); // before OpenSSH 8.7
        add("password", "passwordauthentication");
    }
    return methods;
}

} // namespace

SshSurroundings ssh_surroundings() {
    SshSurroundings surroundings;
    surroundings.environment = [](const std::string& name) {
        const char* found = std::getenv(name.c_str());
        return found == nullptr ? std::nullopt : std::optional<std::string>(found);
    };
    auto account = own_account();
    surroundings.home = std::move(account.home);
    surroundings.user = std::move(account.name);
    return surroundings;
}

std::vector<std::string> ssh_settings_command(const EngineAddress& address) {
    std::vector<std::string> command{"ssh", "-G"};
    if (!address.user.empty()) {
        command.insert(command.end(), {"-l", address.user});
    }
    if (address.port.number != 0) {
        command.insert(command.end(), {"-p", std::to_string(address.port.number)});
    }
    command.insert(command.end(), {"--", address.host});
    return command;
}

SshSettings parse_ssh_settings(std::string_view text, const EngineAddress& address,
                               const SshSurroundings& surroundings) {
    const auto lines = read_lines(text);
    SshSettings settings;
    settings.alias = address.host;
    settings.host = lines.contains("hostname") ? value(lines, "hostname") : address.host;
    settings.user = !address.user.empty() ? address.user : value(lines, "user");
    if (settings.user.empty()) {
        settings.user = surroundings.user;
    }
    if (address.port.number != 0) {
        settings.port = address.port;
    } else if (const auto port = number(lines, "port"); port && *port > 0 && *port < 65536) {
        settings.port = Port{static_cast<std::uint16_t>(*port)};
    }
    settings.host_key_alias = value(lines, "hostkeyalias");
    settings.identities_only = value(lines, "identitiesonly") == "yes";
    settings.batch = value(lines, "batchmode") == "yes";
    settings.check_address = value(lines, "checkhostip") == "yes";
    settings.algorithms = algorithms(lines);
    settings.other_logins = other_logins(lines);
    const auto checking = value(lines, "stricthostkeychecking");
    settings.strict = checking.empty() || checking == "ask" || checking == "true" || checking == "yes";
    settings.checks_otherwise = std::ranges::any_of(
        std::to_array<std::string_view>(
            {"verifyhostkeydns", "nohostauthenticationforlocalhost", "gssapikeyexchange"}),
        [&](std::string_view key) { return !switches_off(value(lines, key)); });
    settings.beyond = beyond(lines);

    const Expander expand(settings, surroundings);
    const auto [first, last] = lines.equal_range("identityfile");
    for (auto line = first; line != last; ++line) {
        if (line->second != "none") {
            settings.identity_files.push_back(expand.path(line->second));
        }
    }
    if (first == last) {
        for (const auto* name : {"id_rsa", "id_ecdsa", "id_ed25519"}) {
            settings.identity_files.push_back(surroundings.home + "/.ssh/" + name);
        }
    }
    settings.agent_socket = agent_socket(lines, expand, surroundings);
    for (const auto* key : {"userknownhostsfile", "globalknownhostsfile"}) {
        for (const auto& path : split(value(lines, key), ' ')) {
            if (!path.empty()) {
                settings.known_hosts.push_back(expand.path(path));
            }
        }
    }
    settings.control_path = expand.path(value(lines, "controlpath"));
    if (value(lines, "permitlocalcommand") == "yes") {
        settings.local_command = value(lines, "localcommand");
    }
    for (const auto& [key, option] :
         {std::pair("remotecommand", "RemoteCommand=none"), std::pair("requesttty", "RequestTTY=no"),
          std::pair("stdinnull", "StdinNull=no"),
          std::pair("forkafterauthentication", "ForkAfterAuthentication=no")}) {
        if (lines.contains(key)) { // an older ssh does not know each
            settings.session_options.emplace_back(option);
        }
    }
    if (lines.empty()) {
        settings.known_hosts = {surroundings.home + "/.ssh/known_hosts", "/etc/ssh/ssh_known_hosts"};
    }
    const auto command = value(lines, "proxycommand");
    const auto jump = value(lines, "proxyjump");
    if (!command.empty()) {
        // `exec`, as ssh has it: the program itself, not a shell, is what is ended later.
        settings.proxy = {"/bin/sh", "-c", "exec " + expand.tokens(command)};
        settings.proxy_name = command;
    } else if (!jump.empty()) {
        settings.proxy = jump_command(settings, jump);
        settings.proxy_name = jump.substr(0, jump.find(','));
    }
    if (const auto limit = number(lines, "connecttimeout"); limit && *limit > 0) {
        settings.connect_timeout = seconds(*limit);
    }
    // Without an interval ssh asks for no sign of life, and its count means nothing.
    if (const auto interval = number(lines, "serveraliveinterval"); interval && *interval > 0) {
        settings.alive_interval = seconds(*interval);
        if (const auto count = number(lines, "serveralivecountmax"); count && *count > 0) {
            settings.alive_count = *count;
        }
    }
    return settings;
}

Task<Result<SshSettings>> read_ssh_settings(boost::asio::any_io_executor executor, EngineAddress address) {
    const auto command = ssh_settings_command(address);
    auto permit = co_await SshCommons::of(executor).start_program(executor);
    const auto answer = co_await run_and_read(executor, command, seconds(10));
    permit.release();
    if (!answer) {
        if (answer.error().kind == ErrorKind::not_found) {
            co_return parse_ssh_settings("", address, ssh_surroundings());
        }
        auto error = answer.error();
        if (error.kind == ErrorKind::timeout) {
            error.hint = "does a `Match exec` of your ssh configuration hang?";
        }
        co_return error;
    }
    if (answer->exit_code != 0) {
        co_return Error{ErrorKind::config, "",
                        fmt::format("`{}` failed: {}", shell_join(command), printable(answer->complaint)),
                        "does `ssh " + shell_quote(address.host) + "` work by hand?"};
    }
    co_return parse_ssh_settings(answer->output, address, ssh_surroundings());
}

} // namespace dockdist
