// What nodes of a large cluster cannot reach, said once in place of once a node. Pure.
#pragma once

#include "shared/core/result.hpp"
#include "shared/wire/join.hpp"

#include <string>
#include <vector>

namespace dockdist {

struct JoinFailure {
    std::string node{};
    Error error{};
    std::vector<wire::Unreached> unreached{}; // what the error is about, where it is about that
};

// The errors to tell. Up to four nodes, each speaks for itself. In a larger cluster there is one error for
// each node that cannot be reached, with its own place (`where`, in the order of `records`), so that an `up`
// may go on without it. What a node says that cannot be reached itself counts only where no other says
// anything. The nodes' own words are events of the join, which `-o json` shows. `records` are those of the
// whole cluster: a node is not believed where another one is.
Errors fold_unreached(std::vector<JoinFailure> failures, const std::vector<wire::NodeRecord>& records,
                      const std::vector<std::string>& where);

} // namespace dockdist
