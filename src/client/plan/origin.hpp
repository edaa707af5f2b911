// Whose a cluster is: it bears the name of the file that it was made from (labels::origin), and two people,
// or two folders, may have chosen one name for different clusters.
#pragma once

#include "client/container/types.hpp"
#include "client/spec/cluster_spec.hpp"
#include "shared/core/result.hpp"

#include <optional>
#include <string>

namespace dockdist {

// Pure: who has made it, where that is not `own`; what bears no such label is everybody's.
std::optional<std::string> another_origin(const Labels& there, const std::string& own);

// Pure: what a command that would change or remove it says then. `consequence`: "and differs from this file".
Error of_another_file(const ClusterName& cluster, const std::string& origin, const std::string& consequence,
                      const std::string& command);

// The same for what only uses it, from any machine and by anybody who has the file: an error where this user
// has another file of that cluster on this machine, which is still there.
std::optional<Error> of_another_file_here(const ClusterName& cluster, const Labels& there,
                                          const std::string& own);

} // namespace dockdist
