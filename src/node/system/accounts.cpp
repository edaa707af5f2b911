#include "node/system/accounts.hpp"

#include "shared/core/number.hpp"
#include "shared/core/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace dockdist::node {
namespace {

constexpr gid_t nogroup = 65534;

std::optional<std::uint32_t> parse_id(std::string_view text) {
    const auto id = whole_number<std::uint32_t>(text);
    return id == 0xFFFFFFFFU ? std::nullopt : id;
}

std::vector<std::string> lines_of(std::string_view text) {
    auto lines = split(text, '\n');
    if (lines.back().empty()) {
        lines.pop_back();
    }
    return lines;
}

std::string join_lines(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) {
        text += line + "\n";
    }
    return text;
}

std::optional<Account> parse_line(const std::string& line) {
    const auto fields = split(line, ':');
    if (fields.size() < 7 || fields[0].empty()) {
        return std::nullopt;
    }
    const auto uid = parse_id(fields[2]);
    const auto gid = parse_id(fields[3]);
    if (!uid || !gid) {
        return std::nullopt;
    }
    return Account{.name = fields[0], .uid = *uid, .gid = *gid, .home = fields[5], .shell = fields[6]};
}

std::string to_line(const Account& account) {
    return account.name + ":x:" + std::to_string(account.uid) + ":" + std::to_string(account.gid) +
           "::" + account.home + ":" + account.shell;
}

Result<gid_t> find_group(std::string_view name, std::string_view group_text) {
    if (const auto id = parse_id(name)) {
        return gid_t{*id};
    }
    for (const auto& line : lines_of(group_text)) {
        const auto fields = split(line, ':');
        if (fields.size() >= 3 && fields[0] == name) {
            if (const auto id = parse_id(fields[2])) {
                return gid_t{*id};
            }
        }
    }
    return Error{.kind = ErrorKind::config,
                 .message = "the image has no group \"" + printable(name) + "\"",
                 .hint = "give container.user a numeric group, as in 1000:1000"};
}

// What sshd_config's AllowUsers and a passwd line can hold as it is.
bool is_safe_user_name(std::string_view name) {
    return !name.empty() && name.size() <= 64 && name.front() != '-' && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-' || c == '.';
    });
}

bool lets_nobody_in(std::string_view shell) {
    return shell.ends_with("/nologin") || shell.ends_with("/false") || shell.ends_with("/true");
}

std::string usable_shell(const std::string& wanted, const std::string& fallback,
                         const IsExecutable& is_executable) {
    if (!wanted.empty() && !lets_nobody_in(wanted) && is_executable(wanted)) {
        return wanted;
    }
    for (const auto* shell : {"/bin/bash", "/usr/bin/bash", "/bin/sh", "/usr/bin/sh", "/busybox/sh"}) {
        if (is_executable(shell)) {
            return shell;
        }
    }
    return fallback;
}

std::string free_system_id(const std::vector<Account>& accounts) {
    for (uid_t uid = 105; uid < 65000; ++uid) {
        if (std::ranges::none_of(accounts, [&](const Account& account) { return account.uid == uid; })) {
            return std::to_string(uid);
        }
    }
    return std::to_string(nogroup);
}

} // namespace

std::vector<Account> parse_passwd(std::string_view text) {
    std::vector<Account> accounts;
    for (const auto& line : lines_of(text)) {
        if (auto account = parse_line(line)) {
            accounts.push_back(std::move(*account));
        }
    }
    return accounts;
}

std::vector<gid_t> groups_of(std::string_view group_text, std::string_view name, gid_t primary) {
    std::vector<gid_t> groups{primary};
    for (const auto& line : lines_of(group_text)) {
        const auto fields = split(line, ':');
        if (fields.size() < 4) {
            continue;
        }
        const auto members = split(fields[3], ',');
        const auto id = parse_id(fields[2]);
        if (id && std::ranges::find(members, name) != members.end() &&
            std::ranges::find(groups, *id) == groups.end()) {
            groups.push_back(*id);
        }
    }
    return groups;
}

Result<Account> find_account(std::string_view user, std::string_view passwd, std::string_view group) {
    const auto colon = user.find(':');
    const auto name = user.empty() ? std::string_view("root") : user.substr(0, colon);
    std::optional<gid_t> gid;
    if (colon != std::string_view::npos) {
        const auto found = find_group(user.substr(colon + 1), group);
        TRY(found);
        gid = *found;
    }
    const auto accounts = parse_passwd(passwd);
    const auto uid = parse_id(name);
    const auto entry = std::ranges::find_if(accounts, [&](const Account& account) {
        return (account.name == name || (uid && account.uid == *uid)) && (!gid || account.gid == *gid) &&
               is_safe_user_name(account.name);
    });
    Account account;
    if (entry != accounts.end()) {
        account = *entry;
    } else {
        const auto other_group = std::ranges::find_if(accounts, [&](const Account& candidate) {
            return candidate.name == name || (uid && candidate.uid == *uid);
        });
        if (other_group != accounts.end()) {
            // The same user with another group: an entry beside the first, as logins take their group from
            // the entry.
            account = *other_group;
            account.gid = gid.value_or(account.gid);
        } else if (uid) {
            account.uid = *uid;
            account.gid = gid.value_or(0);
        } else if (name == "root") {
            account = {.name = "root", .home = "/root"};
        } else {
            return Error{
                .kind = ErrorKind::config,
                .message = "the image has no user \"" + printable(name) + "\"",
                .hint = "set container.user to one that /etc/passwd of the image names, or to a numeric uid"};
        }
        if (account.name != "root" || account.gid != 0) {
            account.name =
                "dockdist-" + std::to_string(account.uid) + (gid ? "-" + std::to_string(account.gid) : "");
        }
        if (account.home.empty()) {
            account.home = "/var/lib/dockdist/home/" + account.name;
        }
    }
    account.groups = groups_of(group, account.name, account.gid);
    return account;
}

Account account_of(uid_t uid, gid_t gid, std::string_view name, std::string_view passwd,
                   std::string_view group) {
    const auto accounts = parse_passwd(passwd);
    auto found = std::ranges::find_if(
        accounts, [&](const Account& account) { return account.uid == uid && account.name == name; });
    if (found == accounts.end()) {
        found = std::ranges::find_if(accounts, [&](const Account& account) { return account.uid == uid; });
    }
    Account account{.name = std::to_string(uid), .uid = uid, .gid = gid, .home = "/"};
    if (found != accounts.end()) {
        account = *found;
    }
    account.groups = groups_of(group, account.name, account.gid);
    return account;
}

std::string mend_passwd(std::string_view passwd, Account& account, const std::string& fallback_shell,
                        const IsExecutable& is_executable) {
    auto lines = lines_of(passwd);
    const auto accounts = parse_passwd(passwd);
    const auto has = [&](std::string_view name) {
        return std::ranges::any_of(accounts,
                                   [&](const Account& candidate) { return candidate.name == name; });
    };
    account.shell = usable_shell(account.shell, fallback_shell, is_executable);
    if (account.home.empty()) {
        account.home = "/";
    }
    if (!has("root")) {
        lines.insert(lines.begin(),
                     "root:x:0:0:root:/root:" + usable_shell("", fallback_shell, is_executable));
    }
    if (!has("sshd")) {
        lines.push_back("sshd:x:" + free_system_id(accounts) + ":" + std::to_string(nogroup) +
                        "::/run/sshd:/usr/sbin/nologin");
    }
    bool there = false;
    for (auto& line : lines) {
        auto fields = split(line, ':');
        if (fields.size() < 7 || fields[0] != account.name) {
            continue;
        }
        there = true;
        if (fields[5] != account.home || fields[6] != account.shell) {
            line = fields[0] + ":" + fields[1] + ":" + fields[2] + ":" + fields[3] + ":" + fields[4] + ":" +
                   account.home + ":" + account.shell;
        }
    }
    if (!there) {
        lines.push_back(to_line(account));
    }
    return join_lines(lines);
}

std::string mend_shadow(std::string_view shadow, std::string_view name) {
    if (shadow.empty()) {
        return {};
    }
    auto lines = lines_of(shadow);
    for (auto& line : lines) {
        const auto fields = split(line, ':');
        if (fields.size() < 2 || fields[0] != name) {
            continue;
        }
        const bool locked = fields[1].starts_with('!');
        const bool dated = fields.size() > 7 && (fields[2] == "0" || !fields[7].empty() ||
                                                 (!fields[4].empty() && fields[4].size() < 5));
        if (locked || dated) {
            line = fields[0] + ":" + (locked ? "*" : fields[1]) + ":::::::";
        }
    }
    return join_lines(lines);
}

} // namespace dockdist::node
