// What stands on record in a node for its sessions and jobs: who container.user is, their environment and
// folder.
#pragma once

#include "node/system/accounts.hpp"
#include "node/system/environment.hpp"

#include <string>

namespace dockdist::node {

// The environment on record for sessions and jobs; the process's own when there is none.
Environment recorded_environment();
// container.user, as join resolved it; root before. Nobody, where it has gone meanwhile.
Account recorded_account();
Account named_account(const std::string& name_or_id, std::string& error);
std::string recorded_workdir();

// Whether this process is root's in a node whose jobs are another's, or may be: what that account can change
// must not run here.
bool guards_root();

} // namespace dockdist::node
