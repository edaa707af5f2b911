#include "client/engine/transport/ssh/user_ssh_words.hpp"

#include "shared/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace dockdist {
namespace {

// The user and port of the address, which come before those of the configuration; and the host.
void add_destination(std::vector<std::string>& command, const EngineAddress& address) {
    if (!address.user.empty()) {
        command.insert(command.end(), {"-l", address.user});
    }
    if (address.port.number != 0) {
        command.insert(command.end(), {"-p", std::to_string(address.port.number)});
    }
    command.insert(command.end(), {"--", address.host});
}

void add_options(std::vector<std::string>& command, const std::vector<std::string>& options) {
    for (const auto& option : options) {
        command.insert(command.end(), {"-o", option});
    }
}

// An ssh that speaks to the one at `control`. What it says of tokens is for names that have none.
std::vector<std::string> client_of(const std::string& control) {
    std::string name;
    for (const char c : control) {
        name += c == '%' ? "%%" : std::string(1, c);
    }
    return {"ssh", "-F", "/dev/null", "-S", name};
}

std::vector<std::string> forwarding(const char* what, const std::string& control, const std::string& here,
                                    const std::string& there) {
    if (!there.starts_with('/') || there.find_first_of(":\\%$[]") != std::string::npos) {
        return {};
    }
    auto words = client_of(control);
    words.insert(words.end(), {"-O", what, "-L", here + ":" + there, "--", "host"});
    return words;
}

bool says_any(std::string_view text, std::initializer_list<std::string_view> parts) {
    return std::ranges::any_of(parts, [&](auto part) { return text.find(part) != std::string_view::npos; });
}

// What says most: the last line tells only that it failed.
std::string most_telling_line(std::string_view complaints) {
    constexpr std::array<std::string_view, 9> telling{"REMOTE HOST IDENTIFICATION HAS CHANGED",
                                                      "revoked",
                                                      "host key is known for",
                                                      "differs from the key for the IP address",
                                                      "Unable to negotiate",
                                                      "Permission denied",
                                                      "Bad owner or permissions",
                                                      "Could not resolve hostname",
                                                      "Connection refused"};
    auto lines = split(complaints, '\n');
    constexpr std::string_view frame = " \r@"; // of a warning
    for (auto& line : lines) {
        line.erase(0, std::min(line.find_first_not_of(frame), line.size()));
        line.erase(line.find_last_not_of(frame) + 1);
    }
    std::erase(lines, "");
    for (const auto part : telling) {
        const auto found = std::ranges::find_if(
            lines, [&](const auto& line) { return line.find(part) != std::string::npos; });
        if (found != lines.end()) {
            return *found;
        }
    }
    return lines.empty() ? "" : lines.back();
}

} // namespace

std::vector<std::string> user_ssh_command(const EngineAddress& address, const SshSettings& settings,
                                          const std::string& control, bool asks,
                                          std::chrono::milliseconds connect_limit) {
    std::vector<std::string> command{"ssh", "-N", "-T", "-a", "-x", "-M", "-S", control};
    // ssh runs LocalCommand once it is logged in; what the user's own one does comes behind it.
    auto ready = fmt::format("LocalCommand=echo '{}'", user_ssh_ready);
    if (!settings.local_command.empty()) {
        ready += "; " + settings.local_command;
    }
    add_options(command, {"ControlPersist=no", "ClearAllForwardings=yes", "Tunnel=no",
                          "PermitLocalCommand=yes", ready, "LogLevel=INFO"});
    add_options(command, settings.session_options);
    if (!asks) {
        add_options(command, {"BatchMode=yes"});
    }
    if (settings.strict) {
        add_options(command, {"StrictHostKeyChecking=yes"});
    }
    if (!settings.connect_timeout && (!asks || settings.proxy.empty())) { // the way may ask, too
        const auto seconds = std::max(std::chrono::ceil<std::chrono::seconds>(connect_limit).count(), 1L);
        add_options(command, {fmt::format("ConnectTimeout={}", seconds)});
    }
    add_options(command, {fmt::format("ServerAliveInterval={}", settings.alive_interval.count()),
                          fmt::format("ServerAliveCountMax={}", settings.alive_count)});
    add_destination(command, address);
    return command;
}

std::vector<std::string> forward_command(const std::string& control, const std::string& here,
                                         const std::string& there) {
    return forwarding("forward", control, here, there);
}

std::vector<std::string> cancel_command(const std::string& control, const std::string& here,
                                        const std::string& there) {
    return forwarding("cancel", control, here, there);
}

std::vector<std::string> remote_command(const std::string& control, const std::string& command) {
    auto words = client_of(control);
    // Where the connection has no room or is gone, ssh shall make none of its own.
    add_options(words, {"ControlMaster=no", "BatchMode=yes", "ProxyCommand=false"});
    words.insert(words.end(), {"-T", "-a", "-x", "--", "host", command});
    return words;
}

bool is_crowded(std::string_view complaints) {
    return says_any(complaints, {"Session open refused", "session request failed"});
}

bool is_turned_away(std::string_view complaints) {
    return says_any(complaints, {"exchange_identification: ", "Exceeded MaxStartups"});
}

Error user_ssh_error(const std::string& where, const SshSettings& settings, std::string_view complaints,
                     const std::string& why) {
    const auto line = most_telling_line(complaints);
    return {ErrorKind::unreachable, "",
            fmt::format("your own ssh does not reach {}{}{} (dockdist uses it, since {})", where,
                        line.empty() ? "" : ": ", printable(line), why),
            fmt::format("try `ssh {}{}{}`{}",
                        settings.port.number == 22 ? "" : fmt::format("-p {} ", settings.port.number),
                        settings.user.empty() ? "" : shell_quote(settings.user + "@"),
                        shell_quote(settings.alias),
                        why.find("passphrase") == std::string::npos
                            ? ""
                            : "; an agent (ssh-add) keeps a key with a passphrase")};
}

} // namespace dockdist
