// Which nodes a job runs on, and where its ranks meet.
#pragma once

#include "observe/observe.hpp"

#include <string>
#include <vector>

namespace dockdist {

// `selection`: "" all, "N" the first N, "a,b" those of these names, in the order given.
// Errors (usage): more nodes than there are, an unknown or repeated name.
Result<std::vector<ReadyNode>> select_nodes(const std::vector<ReadyNode>& nodes,
                                            const std::string& selection);

// The port at which a job's ranks meet on its first node. Derived from the job's name, so that jobs side by
// side differ; in 20000–29999, below Linux's ephemeral ports and away from sshd's.
Port rendezvous_port(const JobId& job);

} // namespace dockdist
