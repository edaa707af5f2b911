// Whose process this is.
#pragma once

#include <string>

namespace dockdist {

struct OwnAccount {
    std::string name{}; // empty: nobody says
    std::string home{};
};

// As ssh does it: by the account of the effective user, not by $HOME. One that is not in /etc/passwd (but in
// a directory such as LDAP, which a static program cannot ask): what LOGNAME or USER, and HOME say.
OwnAccount own_account();

} // namespace dockdist
