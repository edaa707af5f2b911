// /etc/passwd, /etc/group, /etc/shadow and /etc/hosts of an image or a host, and what a join makes of them.
#include "node/system/accounts.hpp"

#include "fuzz/fuzz.hpp"
#include "node/boot/node_files.hpp"
#include "node/system/network.hpp"
#include "node/system/resolver.hpp"
#include "shared/core/text.hpp"

#include <array>

namespace {

using namespace dockdist;
using namespace dockdist::node;

bool no_shell(const std::string& path) {
    return path == "/bin/sh";
}

std::vector<std::string> lines_of(std::string_view text) {
    auto lines = split(text, '\n');
    if (!lines.empty() && lines.back().empty()) {
        lines.pop_back();
    }
    return lines;
}

std::ptrdiff_t entries_of(const std::string& passwd, const std::string& name) {
    return std::ranges::count(parse_passwd(passwd), name, &Account::name);
}

void passwd(std::string_view text) {
    const auto said = fuzz::parts(text, 3);
    const auto& [before, groups, user] = std::tie(said[0], said[1], said[2]);
    auto account = find_account(user, before, groups);
    if (!account) {
        fuzz::require(fuzz::has_no_controls(account.error().message), "an error has no controls");
        return;
    }
    fuzz::require(!account->name.empty() && account->name.find_first_of(":\n/ ") == std::string::npos,
                  "an account's name stands in passwd and sshd_config as it is");
    const auto after = mend_passwd(before, *account, "/opt/dockdist/bin/sh", no_shell);
    for (const auto* name : {"root", "sshd"}) {
        fuzz::require(entries_of(after, name) >= 1, "what sshd needs is there");
    }
    fuzz::require(entries_of(after, account->name) >= 1, "the account is there");
    fuzz::require(lines_of(after).size() <= lines_of(before).size() + 3, "three lines come at most");
    for (const auto& entry : parse_passwd(before)) {
        if (entry.name != account->name) {
            fuzz::require(entries_of(after, entry.name) == entries_of(before, entry.name),
                          "other accounts stay");
        }
    }
    for (const auto& entry : parse_passwd(after)) {
        fuzz::require(entry.uid != 0 || entry.name == "root" || entries_of(before, entry.name) > 0 ||
                          account->uid == 0,
                      "nobody becomes root");
    }
    auto same = *account;
    fuzz::require_equal(after, mend_passwd(after, same, "/opt/dockdist/bin/sh", no_shell),
                        "what is mended is not mended again");
    const auto found = account_of(account->uid, account->gid, account->name, after, groups);
    fuzz::require(found.name == account->name && found.uid == account->uid && found.gid == account->gid,
                  "the account that was mended is found");
    fuzz::require(found.shell == account->shell && found.home == account->home, "with its shell and home");
}

void shadow(std::string_view text) {
    const auto said = fuzz::parts(text, 2);
    const auto after = mend_shadow(said[0], said[1]);
    fuzz::require_equal(after, mend_shadow(after, said[1]), "what is mended is not mended again");
    const auto old_lines = lines_of(said[0]);
    const auto new_lines = lines_of(after);
    fuzz::require(old_lines.size() == new_lines.size(), "no line comes or goes");
    for (std::size_t i = 0; i < new_lines.size(); ++i) {
        const auto name = split(new_lines[i], ':').front();
        fuzz::require(old_lines[i] == new_lines[i] || name == said[1], "other accounts stay");
        if (name == said[1] && old_lines[i] != new_lines[i]) {
            const auto password = split(new_lines[i], ':')[1];
            fuzz::require(password == "*" ||
                              (!password.starts_with('!') && password == split(old_lines[i], ':')[1]),
                          "no password opens the account but its own");
        }
    }
}

void hosts(std::string_view text) {
    const auto said = fuzz::parts(text, 4);
    const wire::Members members{.cluster = "c",
                                .nodes = {{.node = "node-0",
                                           .address = "10.0.0.1",
                                           .interface = "e",
                                           .hostname = said[1],
                                           .ssh_port = 2222,
                                           .user = "root",
                                           .user_key = "ssh-ed25519 AAAA",
                                           .host_key = "ssh-ed25519 AAAA"},
                                          {.node = "node-1",
                                           .address = "10.0.0.2",
                                           .interface = "e",
                                           .hostname = said[2],
                                           .ssh_port = 2222,
                                           .user = "root",
                                           .user_key = "ssh-ed25519 AAAA",
                                           .host_key = "ssh-ed25519 AAAA"}}};
    const auto& self = members.nodes[0];
    const auto after = mend_hosts(said[0], self, members);
    fuzz::require_equal(after, mend_hosts(after, self, members), "what is mended is not mended again");
    fuzz::require(resolve_in_hosts(after, "node-0") == "10.0.0.1" &&
                      resolve_in_hosts(after, "node-1") == "10.0.0.2",
                  "every node's name resolves to its address");
    fuzz::require(std::ranges::count(after, '\n') <= std::ranges::count(said[0], '\n') + 6,
                  "a block of a few lines comes");
    (void)resolve_in_hosts(said[0], said[3]);
    (void)parse_ahosts(text);
}

constexpr std::array<fuzz::Read, 3> kinds{passwd, shadow, hosts};

} // namespace

void fuzz::one_input(std::string_view input) {
    by_kind(input, kinds);
}

std::vector<std::string> fuzz::seeds() {
    const std::string passwd =
        "root:x:0:0:root:/root:/bin/bash\nsshd:x:105:65534::/run/sshd:/usr/sbin/nologin\n"
        "alice:x:1000:1000:A:/home/alice:/bin/false\n";
    const std::string group = "root:x:0:\nvideo:x:44:alice,bob\n";
    const std::string hosts =
        "127.0.0.1\tlocalhost\n127.0.1.1\tgpu-0.lab gpu-0\n::1 ip6-localhost\n10.9.9.9 other # x\n";
    std::vector<std::string> all;
    for (const auto* user : {"", "alice", "1000", "1000:44", "alice:video", "4242:4242", "root:video"}) {
        all.push_back(of_kind(0, of_parts({passwd, group, user})));
    }
    all.push_back(of_kind(0, of_parts({"", "", "1000"})));
    all.push_back(of_kind(1, of_parts({"root:*:19000:0:99999:7:::\nalice:!:0:0:7:7:1:2:\n", "alice"})));
    all.push_back(of_kind(2, of_parts({hosts, "gpu-0", "gpu-1", "other"})));
    all.push_back(of_kind(
        2, of_parts({"# dockdist: the cluster's nodes\n10.0.0.1\tnode-0 gpu-0.lab\n# dockdist: end\n" + hosts,
                     "gpu-0", "gpu-0", "node-0"})));
    return all;
}
