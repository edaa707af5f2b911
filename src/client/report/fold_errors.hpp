// Errors of many hosts as people get them: those that are alike in one, and no more than a screen of them.
//   error: 56 of 64 hosts: refused the connection (node-[3,9-63])
// Pure.
#pragma once

#include "client/report/event.hpp"

#include <cstddef>

namespace dockdist {

// Of the cluster; 0: not known.
struct ClusterSize {
    std::size_t hosts = 0, nodes = 0;
};

// From four on, errors that differ only in the host or node they name become one, at the first one's place.
// Of more than twenty the rest is counted, and of a message of more than a screen its first line is told and
// what tells most of the others (shared/core/telling_lines.hpp). Mistakes in a file stay as they are.
Errors fold_errors(const Errors& errors, ClusterSize size);

// All of them, folded where the reporter folds.
void tell_errors(Reporter& reporter, const Errors& errors, ClusterSize size);
void tell_warnings(Reporter& reporter, const Errors& warnings, ClusterSize size);

} // namespace dockdist
