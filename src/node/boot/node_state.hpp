// What join leaves on the node: accounts, keys, and the files under /run/dockdist.
#pragma once

#include "core/result.hpp"
#include "node/system/accounts.hpp"
#include "wire/join.hpp"

#include <string>

namespace dockdist::node {

// container.user, with the entries in /etc/passwd and /etc/shadow that sshd needs, and a home.
Result<Account> prepare_account(const std::string& user);

struct PublicKeys {
    std::string user{}, host{}; // "ssh-ed25519 AAAA…"
};
// Made once in a container's life, by ssh-keygen inside; the private halves stay there.
Result<PublicKeys> make_keys(const Account& account);

// Every file that depends on who the members are. Refuses members that check_members refuses.
Status write_state(const wire::NodeRecord& self, const wire::Members& members, const Account& account);

} // namespace dockdist::node
