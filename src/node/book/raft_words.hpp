// C-Raft's words for what stands in entry.hpp. What it is given is raft_malloc()ed, and its own from then on.
#pragma once

#include "node/book/entry.hpp"

extern "C" {
#include <raft.h>
}

namespace dockdist::node {

raft_buffer buffer_of(std::string_view bytes);
std::string_view view_of(const raft_buffer& buffer);

LogEntry entry_of(const raft_entry& entry);
std::string bytes_for_raft(const LogEntry& entry);
// One block for all, as it takes them from the network; nothing for none.
raft_entry* entries_for_raft(const std::vector<LogEntry>& entries);

Members members_of(const raft_configuration& configuration);
raft_configuration configuration_of(const Members& members);
LogEntry first_entry_of(const Members& members); // of a log

Snapshot snapshot_of(const raft_snapshot& snapshot);
raft_snapshot* raft_snapshot_of(const Snapshot& snapshot);

} // namespace dockdist::node
