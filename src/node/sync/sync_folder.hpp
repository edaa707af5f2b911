// The folder that a sync writes into: found or made so that container.user owns what will stand in it.
#pragma once

#include "node/system/accounts.hpp"
#include "shared/core/result.hpp"
#include "shared/tree/folder.hpp"

#include <string>

namespace dockdist::node {

struct SyncFolder {
    Folder folder{};           // not open: it is not there, and was not to be made
    bool maybe_shared = false; // it is not on the container's own file system
};

// `path` is absolute; links in it are followed, as it is the user of dockdist who has named it. With `make`
// the folder is made where it is missing, and must be one that the account may write in: missing folders are
// made as the account, or the first by root for the account where only root may, and an empty one of root's
// in the container's own layer (of a WORKDIR) is given to the account. Root does so only where nobody but
// root could have laid any part of the way: the account must not lead root's hand.
Result<SyncFolder> open_sync_folder(const std::string& path, const Account& account, bool make);

} // namespace dockdist::node
