// Folders that root makes for an account, or that the account makes for itself: the account must not lead
// root's hand.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/roots_way.hpp"
#include "shared/core/result.hpp"

#include <string>

namespace dockdist::node {

// The effective user of this process, and root again at the end of its life. Does nothing where the process
// is not root's, or the account is.
class AsUser {
public:
    explicit AsUser(const Account& account);
    ~AsUser();
    AsUser(const AsUser&) = delete;
    AsUser& operator=(const AsUser&) = delete;

    const Status& status() const { return status_; }

private:
    bool changed_ = false;
    Status status_ = ok;
};

// mkdir -p as the account. 0 or errno.
int make_as_account(const std::string& path, const Account& account);

// The first missing folder of the way is made by root for the account, which makes the rest of it. 0 or
// errno.
int make_first_as_root(const std::string& path, const Account& account);

// mkdir -p of an account's home: root's folders on the way and the account's own at its end, where nobody but
// root could have laid the way, else as the account.
void make_home_folder(const Account& account);

} // namespace dockdist::node
