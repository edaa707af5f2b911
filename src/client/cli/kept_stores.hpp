// Jobs of a cluster that is down, or has lost nodes: what these have kept is read where it still lies.
#pragma once

#include "client/cli/context.hpp"
#include "client/observe/store_readers.hpp"

namespace dockdist {

// Adds a door to the store of each node that is not there to `cluster.nodes`, and takes that node out of what
// is wrong; what keeps a store from being read is wrong then. No call where all nodes run. True where there
// are such stores. `readers` are closed by the caller, whatever becomes of this, and before the engines go.
Task<bool> open_kept_stores(Context& context, Attached& cluster, StoreReaders& readers);

} // namespace dockdist
