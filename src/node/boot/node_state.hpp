// What join leaves on the node: accounts, keys, and the files under /run/dockdist.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/user_mounts.hpp"
#include "shared/core/result.hpp"
#include "shared/wire/join.hpp"

#include <string>

namespace dockdist::node {

// container.user, with the entries in /etc/passwd and /etc/shadow that sshd needs, and a home. A file that is
// the host's, and lacks what is needed, is an error; a home that would be made on the host is not made.
Result<Account> prepare_account(const std::string& user, const UserMounts& mounts);

// The public halves, "ssh-ed25519 AAAA…". Made once in a container's life; the private halves stay there.
Result<std::string> make_host_key();
Result<std::string> make_user_key(const Account& account);

// Lets `giver` in, beside whom sshd lets in already. Refuses what check_members refuses.
Status let_giver_in(const std::string& cluster, const wire::NodeRecord& giver);

// Every file that depends on who the members are, but those that would be the host's. Refuses members that
// check_members refuses. `list`: the text that they were read from.
Status write_state(const wire::NodeRecord& self, const wire::Members& members, const std::string& list,
                   const Account& account, const UserMounts& mounts);

// `dockdist-init members`: the list, and on a second line those who were in one before and are not (Members).
int tell_members();

} // namespace dockdist::node
