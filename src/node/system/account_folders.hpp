// Folders that root makes for an account, or that the account makes for itself: the account must not lead
// root's hand.
#pragma once

#include "core/fd.hpp"
#include "core/result.hpp"
#include "node/system/accounts.hpp"

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

// Where a way from "/" ends that nobody but root could have laid.
struct RootsWay {
    Fd folder{};        // the last folder of the way that is there
    std::string next{}; // below it, and not there; empty: the way is there to its end
    int number = 0;     // errno; EACCES: somebody else could have laid a part of it
};

// A link is followed where only root could have put it. In root's folder for all, as /tmp, whose sticky bit
// is set, nobody else can have put a folder of root's, but they may have put a link.
RootsWay roots_way(const std::string& path);

// mkdir -p as the account. 0 or errno.
int make_as_account(const std::string& path, const Account& account);

// The first missing folder of the way is made by root for the account, which makes the rest of it. 0 or
// errno.
int make_first_as_root(const std::string& path, const Account& account);

// mkdir -p of an account's home: root's folders on the way and the account's own at its end, where nobody but
// root could have laid the way, else as the account.
void make_home_folder(const Account& account);

} // namespace dockdist::node
