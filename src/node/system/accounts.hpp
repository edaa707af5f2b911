// The container's accounts: who container.user is, and what /etc/passwd and /etc/shadow must say so that sshd
// lets peers in as that user. Pure: texts in, texts out.
#pragma once

#include "shared/core/result.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dockdist::node {

struct Account {
    std::string name{};
    uid_t uid = 0;
    gid_t gid = 0;
    std::string home{};
    std::string shell{};
    std::vector<gid_t> groups{}; // supplementary ones, gid included
};

std::vector<Account> parse_passwd(std::string_view text); // without groups; lines that are none are skipped
std::vector<gid_t> groups_of(std::string_view group_text, std::string_view name, gid_t primary);

// The account that `user` ("", "name", "name:group", "uid", "uid:gid"; empty: root) stands for, as Docker
// reads it. A uid without an entry gets a name of its own, /var/lib/dockdist/home/<name> as its home and no
// shell.
Result<Account> find_account(std::string_view user, std::string_view passwd, std::string_view group);
// The account that a process runs as; `name` decides between entries of one uid.
Account account_of(uid_t uid, gid_t gid, std::string_view name, std::string_view passwd,
                   std::string_view group);

using IsExecutable = std::function<bool(const std::string& path)>;

// `passwd` with what sshd and ssh need: an entry for root, for sshd's privilege separation, and for
// `account`, whose shell becomes one that exists (`fallback_shell` when the image has none). Sets
// account.shell and account.home to what stands there then. Untouched where nothing is missing.
std::string mend_passwd(std::string_view passwd, Account& account, const std::string& fallback_shell,
                        const IsExecutable& is_executable);

// sshd without PAM refuses accounts whose password is locked with '!', expired, or to be changed. The
// account's line, where there is one, becomes one that has no password and no dates.
std::string mend_shadow(std::string_view shadow, std::string_view name);

} // namespace dockdist::node
